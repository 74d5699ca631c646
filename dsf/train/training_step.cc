#include "dsf/train/training_step.h"

#include <cmath>

#include "dsf/base/timer.h"
#include "dsf/dist/single_process.h"
#include "dsf/optim/clip.h"
#include "dsf/train/gradient_sync.h"
#include "dsf/train/shared_state.h"

namespace dsf {

StepResult training_step(LanguageModel& model, const TokenBatch& batch,
                         const StepSettings& settings, AdamState& adam, ModelState* carried) {
  GradientSync alone(single_process(), model.table().flat_size(), {});
  return training_step(model, {batch, batch.tokens(), carried}, settings, single_process(), alone,
                       adam);
}

StepResult training_step(LanguageModel& model, const BatchPart& batch, const StepSettings& settings,
                         Communicator& ranks, GradientSync& sync, AdamState& adam,
                         const StepCalls& calls) {
  // Scaled by the tokens of the whole batch, the ranks' gradients sum to that of its mean loss.
  const LossSum own = model.forward_backward(
      batch.rows, 1.0 / static_cast<double>(batch.batch_tokens), batch.carried, [&](dim_t first) {
        if (calls.on_gradients) calls.on_gradients(first);
        sync.ready(model.gradients(), first);
      });
  const Timer since_backward;
  sync.finish();
  StepResult result;
  result.sum = sum_over_ranks(ranks, own);
  if (calls.before_update) calls.before_update(result.sum);
  result.gradient_norm = sync.norm(model.gradients());
  result.updated = std::isfinite(result.sum.loss) && std::isfinite(result.gradient_norm);
  if (result.updated) {
    sync.update(settings.adam, settings.learning_rate,
                clip_scale(result.gradient_norm, settings.clip), model.gradients(), adam,
                model.mutable_weights());
  }
  result.update_seconds = since_backward.seconds();
  return result;
}

}  // namespace dsf
