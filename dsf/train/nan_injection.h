#pragma once

// A NaN on demand, so that tests can show that none gets into a file:
//
//   DSF_NAN=STEP:KIND:NAME:INDEX    in step STEP, behind the backward pass, one number becomes NaN
//
//   KIND      NAME
//   loss      -  (with INDEX 0)
//   gradient, weight, m, v   a parameter
//   buffer    one of the model's buffers
//   carried   the number of a block
//
// Read once from the environment; without it this is a load and a branch a step.

#include "dsf/model/language_model.h"
#include "dsf/run/training_state.h"

namespace dsf {

/// Throws UsageError where DSF_NAN names nothing that is there.
void inject_nan(dim_t step, LossSum& sum, LanguageModel& model, TrainingState& state);

}  // namespace dsf
