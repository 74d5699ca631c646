#pragma once

// One training step: forward, backward, clip, update. Everything that trains a language model takes
// its steps here: the trainer, the benchmarks, the gradient tools, the examples.

#include <functional>

#include "dsf/base/token_batch.h"
#include "dsf/model/language_model.h"
#include "dsf/optim/adam.h"

namespace dsf {

class Communicator;
class GradientSync;

/// How the weights follow the gradient.
struct StepSettings {
  AdamConfig adam;
  double learning_rate = 1e-3;
  double clip = 0.0;  ///< largest norm of the gradient; 0: no clipping
};

/// What a step did.
struct StepResult {
  LossSum sum;                  ///< of the whole batch
  double gradient_norm = 0.0;   ///< before clipping
  bool updated = false;         ///< false: loss or norm is not finite, and no weight was changed
  double update_seconds = 0.0;  ///< from the end of the backward pass to that of the step
};

/// One step on `batch`, with the mean loss over its tokens. `carried`: as in
/// LanguageModel::forward_backward. A batch whose loss or gradient is not finite leaves weights and
/// moments alone.
StepResult training_step(LanguageModel& model, const TokenBatch& batch,
                         const StepSettings& settings, AdamState& adam,
                         ModelState* carried = nullptr);

/// A rank's part of a batch that several ranks share.
struct BatchPart {
  const TokenBatch& rows;         ///< this rank's sequences; may be none
  dim_t batch_tokens = 0;         ///< tokens of all ranks together
  ModelState* carried = nullptr;  ///< of this rank's sequences
};

/// Called in the middle of a step, if set.
struct StepCalls {
  /// During the backward pass, as GradientsReady.
  GradientsReady on_gradients;
  /// With the loss of the whole batch, when all gradients are there and nothing was updated yet.
  std::function<void(LossSum& sum)> before_update;
};

/// One step by all ranks together: gradients travel while the backward pass still computes, and all
/// ranks hold the same weights afterwards. `adam` has sync.optimizer_size() moments, or none before
/// the first update.
StepResult training_step(LanguageModel& model, const BatchPart& batch, const StepSettings& settings,
                         Communicator& ranks, GradientSync& sync, AdamState& adam,
                         const StepCalls& calls = {});

}  // namespace dsf
