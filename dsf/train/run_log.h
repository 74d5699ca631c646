#pragma once

// What a run leaves to read: log.jsonl, one object a line, and metrics.csv, one line an evaluation.
// Losses and wall-clock values have keys of their own, so that the losses of two runs can be
// compared.

#include <memory>
#include <optional>
#include <string>

#include "dsf/base/dim.h"
#include "dsf/base/file.h"
#include "dsf/model/language_model.h"
#include "dsf/train/event_file.h"
#include "dsf/train/run_directory.h"

namespace dsf {

/// Training since the last report. Times are wall-clock seconds.
struct TrainReport {
  dim_t step = 0;
  dim_t total_steps = 0;
  double epoch = 0.0;
  double loss = 0.0;  ///< mean over the tokens since the last line
  double learning_rate = 0.0;
  double gradient_norm = 0.0;  ///< of the last step, before clipping
  dim_t tokens = 0;            ///< targets trained on so far
  double tokens_per_second = 0.0;
  double seconds = 0.0;       ///< since the run began, stops left out
  double step_seconds = 0.0;  ///< mean length of a step
  PhaseTimes phases;          ///< mean of a step
  double update_seconds = 0.0;
  double seconds_left = 0.0;  ///< of the run, evaluations included
};

struct EvalReport {
  dim_t step = 0;
  double epoch = 0.0;
  std::string split = "valid";
  double loss = 0.0;
  double perplexity = 0.0;
  double accuracy = 0.0;
  dim_t tokens = 0;
  double train_loss = 0.0;  ///< mean since the evaluation before
  double learning_rate = 0.0;
  double tokens_per_second = 0.0;  ///< of training since the evaluation before
  double seconds = 0.0;
  double eval_seconds = 0.0;
  bool best = false;
};

/// "event" of the last whole line of a log; empty where there is none.
std::string last_event(const std::filesystem::path& log);

/// How a run ended, or stands.
struct RunSummary {
  dim_t steps = 0;
  dim_t total_steps = 0;
  double epoch = 0.0;
  dim_t parameters = 0;
  dim_t tokens = 0;
  std::optional<double> best_loss;
  std::optional<double> best_perplexity;
  dim_t best_step = 0;
  double seconds = 0.0;
  double tokens_per_second = 0.0;  ///< of training, over this process
  PhaseTimes phases;               ///< mean of a step, over this process
  bool interrupted = false;
  double unknown_rate = 0.0;  ///< part of the validation text's tokens that are <unk>
};

/// What stands at the start of a run.
struct StartReport {
  bool resumed = false;
  dim_t step = 0;
  dim_t total_steps = 0;
  dim_t steps_per_epoch = 0;
  dim_t parameters = 0;
  dim_t vocab = 0;
  int threads = 0;  ///< of each rank
  int ranks = 1;
  std::string precision;
  std::string feedback;
};

/// log.jsonl, metrics.csv and, where wanted, event files of a run.
class RunLog {
 public:
  /// A new, empty log.
  static std::unique_ptr<RunLog> create(const RunPaths& paths);
  /// Goes on after `step`: lines of later steps, of a done run and torn ones are removed first.
  static std::unique_ptr<RunLog> reopen(const RunPaths& paths, dim_t step);

  /// Writes nothing: the ranks of a run that are not its first.
  static std::unique_ptr<RunLog> silent();

  /// Seconds the run had taken by the last line that was kept.
  double seconds_before() const { return seconds_before_; }

  /// From here on reports go to TensorBoard's event files too, as a run that stands at `step`.
  void also_write_events(const RunPaths& paths, dim_t step);

  void write(const StartReport& report);
  void write(const TrainReport& report);
  void write(const EvalReport& report);
  void write_interrupted(dim_t step, int signal);
  void write_diverged(dim_t step, const std::string& message);
  /// A batch that was passed over.
  void write_skipped(dim_t step, const std::string& message);
  /// A loss far above the usual one.
  void write_spike(dim_t step, double loss, double usual);
  void write_done(const RunSummary& summary);

  /// Makes all lines so far durable.
  void sync();

 private:
  RunLog(const std::filesystem::path& log, const std::filesystem::path& metrics,
         double seconds_before);

  AppendFile log_;
  AppendFile metrics_;
  std::unique_ptr<EventFile> events_;  // where they are wanted
  double seconds_before_;
};

}  // namespace dsf
