#pragma once

// What a run directory tells about its run, whether it is finished, going on or was killed.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/run/run_config.h"

namespace dsf {

/// One line of the log. A value that is missing or not finite is NaN.
struct TrainPoint {
  double step = 0.0;
  double loss = 0.0;
  double learning_rate = 0.0;
  double gradient_norm = 0.0;
  double tokens_per_second = 0.0;
};

struct EvalPoint {
  double step = 0.0;
  double epoch = 0.0;
  double loss = 0.0;
  double perplexity = 0.0;
  double train_loss = 0.0;  ///< since the evaluation before
};

/// States of a run that has not said how it ended: killed, or its process still holds the
/// directory.
inline constexpr const char* kPartial = "partial";
inline constexpr const char* kRunning = "running";

struct RunRecord {
  std::filesystem::path root;
  RunConfig config;
  std::string state;  ///< done | interrupted | diverged | imported | running | partial
  dim_t step = 0;     ///< the last one in the log
  dim_t total_steps = 0;
  dim_t parameters = 0;
  dim_t vocab = 0;
  double seconds = 0.0;
  double tokens_per_second = 0.0;  ///< of the whole run if it is done, else of its log lines
  std::optional<double> best_perplexity;
  std::vector<TrainPoint> training;
  std::vector<EvalPoint> evaluations;
};

/// Throws UsageError if `root` is not a run, ConfigError if its config.toml is damaged. Lines of
/// the log that a crash tore are passed over.
RunRecord read_run_record(const std::filesystem::path& root);

/// Takes one line of a log into the record; a line that a crash tore is passed over. The state
/// becomes what the line says of it, kPartial if it says nothing.
void add_log_line(std::string_view text, RunRecord& run);

/// The run directories at or below `directory`, by name; nothing is looked for inside a run. Throws UsageError if
/// `directory` is not a directory, IoError if it cannot be read; what cannot be read below it is passed over.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& directory);

/// The records of find_runs. A damaged run does not hide the others: it is left out, with a warning.
std::vector<RunRecord> read_runs(const std::filesystem::path& directory);

/// An array with an object for each run, as `dsf runs --json` prints it.
std::string to_json(const std::vector<RunRecord>& runs);

/// An array with the whole lines of a run's log, each an object. Throws UsageError if `root` is not a run
/// directory.
std::string log_json(const std::filesystem::path& root);

}  // namespace dsf
