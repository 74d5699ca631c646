#pragma once

// What a run leaves to read: log.jsonl, one object a line, and metrics.csv, one line an evaluation.
// Losses and wall-clock values have keys of their own, so that the losses of two runs can be
// compared.

#include <memory>
#include <string>

#include "dsf/base/dim.h"
#include "dsf/base/file.h"
#include "dsf/run/event_file.h"
#include "dsf/run/run_directory.h"
#include "dsf/run/run_report.h"

namespace dsf {

/// "event" of the last whole line of a log; empty if there is none.
std::string last_event(const std::filesystem::path& log);

/// log.jsonl, metrics.csv and, if wanted, event files of a run.
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
  std::unique_ptr<EventFile> events_;  // if they are wanted
  double seconds_before_;
};

}  // namespace dsf
