#pragma once

// Looking for numbers that are not finite.

#include <span>
#include <string>

#include "dsf/model/language_model.h"
#include "dsf/run/training_state.h"

namespace dsf {

bool all_finite(std::span<const float> values);

/// The first parameter whose gradient has a number that is not finite: "the gradient of NAME"; ""
/// if there is none.
std::string first_not_finite_gradient(LanguageModel& model);

/// The first of all that a checkpoint holds: weights, buffers, moments, carried states, counters.
/// "" if all are finite.
std::string first_not_finite(LanguageModel& model, const TrainingState& state);

}  // namespace dsf
