#pragma once

// One run from where it stands to its end. Several ranks train one run together: each takes its
// share of every batch, all hold the same weights, and only rank 0 reports and writes.

#include <memory>
#include <string>

#include "dsf/base/timer.h"
#include "dsf/dist/single_process.h"
#include "dsf/run/checkpoint.h"
#include "dsf/run/run_config.h"
#include "dsf/run/run_log.h"
#include "dsf/run/training_state.h"
#include "dsf/train/gradient_sync.h"
#include "dsf/train/pace.h"
#include "dsf/train/train_observer.h"
#include "dsf/train/training_schedule.h"

namespace dsf {

/// The training loop. run_training (training_run.h) puts one together from a request; construct it
/// yourself to train on data or a model of your own.
class Trainer {
 public:
  /// All references must outlive the trainer. Throws ConfigError or DataError if configuration
  /// and data do not fit; touches no file.
  Trainer(const RunConfig& config, const Dataset& data, LanguageModel& model, RunPaths paths,
          Communicator& ranks = single_process());

  const RunIdentity& identity() const { return identity_; }

  /// Takes over weights and state of the newest whole checkpoint; damaged ones are passed over with
  /// a warning. Without any checkpoint the run stands at its start. Throws UsageError if the
  /// checkpoint was trained on other text, CheckpointError if all are damaged. Touches no file.
  void restore();

  /// Throws IoError if the disk has no room for the checkpoints that the run will keep. Touches
  /// no file.
  void require_space();

  /// Trains until the schedule or `stop` ends it. The log continues where the state stands. Throws
  /// DivergenceError before an update that would leave the finite numbers, unless train.on_nan says
  /// that such a batch is skipped.
  RunSummary run(TrainObserver& observer, const StopRequest& stop);

  /// True for a run that was restored, has all its steps and has said so: run() does nothing.
  bool is_done() const;

  const TrainingState& state() const { return state_; }

 private:
  void start();
  void tidy_checkpoints() const;
  void step();
  void watch_loss(const LossSum& sum);
  void pass_over(const LossSum& sum);
  [[noreturn]] void diverge(const std::string& message);
  void log_training();
  void evaluate();
  void save();
  RunSummary summary() const;
  TrainReport report(const LossSum& window, const Pace& pace) const;
  double seconds() const;
  double seconds_left(const Pace& pace) const;
  void load(const std::filesystem::path& checkpoint);
  void load_newest();

  const RunConfig& config_;
  const Dataset& data_;
  LanguageModel& model_;
  RunPaths paths_;
  RunIdentity identity_;
  Communicator& ranks_;
  GradientSync sync_;
  Batcher batcher_;
  TrainingSchedule schedule_;
  TrainingState state_;
  bool restored_ = false;

  // Of this process only.
  TrainObserver* observer_ = nullptr;
  std::unique_ptr<RunLog> log_;
  TokenBatch batch_;
  Timer clock_;
  Pace since_log_;
  Pace since_eval_;
  Pace since_start_;
  double gradient_norm_ = 0.0;
  dim_t skipped_in_a_row_ = 0;
  bool best_is_new_ = false;
  dim_t saved_step_ = -1;
  double evaluation_seconds_ = 0.0;  // of the last one; 0: there was none yet
};

}  // namespace dsf
