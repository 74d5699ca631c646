#include "dsf/train/training_schedule.h"

#include <algorithm>

namespace dsf {

TrainingSchedule::TrainingSchedule(const TrainConfig& config, dim_t steps_per_epoch)
    : config_(config),
      steps_per_epoch_(steps_per_epoch),
      total_steps_(config.steps > 0 ? config.steps : config.epochs * steps_per_epoch) {}

bool TrainingSchedule::log_on_schedule(dim_t step) const {
  return step == 1 || step % config_.log_every == 0;
}

bool TrainingSchedule::evaluation_on_schedule(dim_t step) const {
  return step % evaluation_interval() == 0;
}

bool TrainingSchedule::checkpoint_due(dim_t step) const {
  return evaluation_due(step) ||
         (config_.checkpoint_every > 0 && step % config_.checkpoint_every == 0);
}

dim_t TrainingSchedule::evaluations_after(dim_t step) const {
  if (finished(step)) return 0;
  const dim_t every = evaluation_interval();
  return total_steps_ / every - step / every + (total_steps_ % every != 0 ? 1 : 0);
}

dim_t TrainingSchedule::most_checkpoints_after(dim_t step) const {
  const dim_t left = std::max<dim_t>(total_steps_ - step, 0);
  const dim_t every = config_.checkpoint_every;
  return left / evaluation_interval() + (every > 0 ? left / every : 0) + 1;
}

double TrainingSchedule::learning_rate(dim_t step) const {
  return config_.lr * schedule_factor(config_.schedule, step, steps_per_epoch_, total_steps_);
}

double TrainingSchedule::epochs_done(dim_t step) const {
  return static_cast<double>(step) / static_cast<double>(steps_per_epoch_);
}

}  // namespace dsf
