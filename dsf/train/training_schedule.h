#pragma once

// When a run logs, evaluates, saves and stops: the one place that decides it.
//
// Each answer for a step inside the run is a function of the step alone, so a run that was stopped
// and resumed does the same things at the same steps. The last step of a run always logs, evaluates
// and saves; `..._on_schedule` tells whether it would have done so anyway.

#include "dsf/run/run_config.h"

namespace dsf {

/// Answers the trainer's questions about a step; knows the configuration and nothing of the run's
/// state. The trainer owns one and asks after each update.
class TrainingSchedule {
 public:
  TrainingSchedule(const TrainConfig& config, dim_t steps_per_epoch);

  dim_t total_steps() const { return total_steps_; }
  bool finished(dim_t step) const { return step >= total_steps_; }

  bool log_on_schedule(dim_t step) const;
  bool log_due(dim_t step) const { return finished(step) || log_on_schedule(step); }
  bool evaluation_on_schedule(dim_t step) const;
  bool evaluation_due(dim_t step) const { return finished(step) || evaluation_on_schedule(step); }
  /// After each evaluation, and every train.checkpoint_every steps.
  bool checkpoint_due(dim_t step) const;
  /// How many evaluations are due after `step`.
  dim_t evaluations_after(dim_t step) const;
  /// How many checkpoints are due after `step`, or a few more.
  dim_t most_checkpoints_after(dim_t step) const;

  /// Of the update that follows `step` updates.
  double learning_rate(dim_t step) const;
  /// Passes through the corpus after `step` updates.
  double epochs_done(dim_t step) const;

 private:
  dim_t evaluation_interval() const {
    return config_.eval_every > 0 ? config_.eval_every : steps_per_epoch_;
  }

  TrainConfig config_;
  dim_t steps_per_epoch_;
  dim_t total_steps_;
};

}  // namespace dsf
