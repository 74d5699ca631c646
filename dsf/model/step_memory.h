#pragma once

// How much memory a training step of a model takes, counted from the shapes of its buffers.

#include "dsf/feedback/feedback_config.h"
#include "dsf/kernels/gemm.h"
#include "dsf/model/model_config.h"

namespace dsf {

/// The largest batch of a training.
struct BatchShape {
  dim_t rows = 0;        ///< N: tokens
  dim_t batch = 0;       ///< B: sequences
  dim_t steps = 0;       ///< T
  bool uniform = false;  ///< all sequences equally long
};

/// Bytes of weights, gradients, the optimiser's two moments, packed copies of the weights, tapes
/// and scratch memory: everything that grows with the model or the batch, with the threads there
/// are. Without the program itself and its text. Throws ConfigError as LanguageModel does.
double step_memory(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab,
                   const BatchShape& shape, Precision precision);

}  // namespace dsf
