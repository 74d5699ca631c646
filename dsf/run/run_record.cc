#include "dsf/run/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dsf/base/directory_lock.h"
#include "dsf/base/error.h"
#include "dsf/base/error_text.h"
#include "dsf/base/file.h"
#include "dsf/base/io_failure.h"
#include "dsf/base/json_text.h"
#include "dsf/base/log.h"
#include "dsf/run/config_file.h"
#include "dsf/run/log_line.h"
#include "dsf/run/run_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

ordered_json json_of(const RunRecord& run) {
  const ModelConfig& model = run.config.model;
  return {{"run", run.root.string()},
          {"state", run.state},
          {"method", run.config.feedback.method},
          {"mixer", name_of(model.mixer)},
          {"layers", model.layers},
          {"hidden", model.hidden},
          {"vocab", run.vocab},
          {"parameters", run.parameters},
          {"step", run.step},
          {"total_steps", run.total_steps},
          {"best_perplexity",
           run.best_perplexity ? ordered_json(*run.best_perplexity) : ordered_json()},
          {"tokens_per_second", run.tokens_per_second},
          {"seconds", run.seconds}};
}

void add_line(const json& line, RunRecord& run) {
  const std::string event = text_at(line, "event");
  run.step = count_at(line, event == "done" ? "steps" : "step", run.step);
  run.total_steps = count_at(line, "total_steps", run.total_steps);
  run.parameters = count_at(line, "parameters", run.parameters);
  run.vocab = count_at(line, "vocab", run.vocab);
  const double seconds = number_at(line, "seconds");
  if (std::isfinite(seconds)) run.seconds = seconds;
  if (event == "train") {
    run.training.push_back({.step = number_at(line, "step"),
                            .loss = number_at(line, "loss"),
                            .learning_rate = number_at(line, "learning_rate"),
                            .gradient_norm = number_at(line, "gradient_norm"),
                            .tokens_per_second = number_at(line, "tokens_per_second")});
  } else if (event == "eval") {
    const EvalPoint point{.step = number_at(line, "step"),
                          .epoch = number_at(line, "epoch"),
                          .loss = number_at(line, "loss"),
                          .perplexity = number_at(line, "perplexity"),
                          .train_loss = number_at(line, "train_loss")};
    run.evaluations.push_back(point);
    if (std::isfinite(point.perplexity)) {
      run.best_perplexity = std::min(run.best_perplexity.value_or(HUGE_VAL), point.perplexity);
    }
  }
  const double speed = number_at(line, "tokens_per_second");
  if (event == "done" && std::isfinite(speed)) {
    run.tokens_per_second = speed;
  } else if (event == "train" && std::isfinite(speed)) {
    // The mean of all lines: a single one may be far off.
    const auto lines = static_cast<double>(run.training.size());
    run.tokens_per_second += (speed - run.tokens_per_second) / lines;
  }
  const bool last_word =
      event == "done" || event == "interrupted" || event == "diverged" || event == "imported";
  run.state = last_word ? event : kPartial;
}

/// The runs below `directory`, which is not a run itself. Entries may vanish or be unreadable while the tree is walked:
/// they are passed over, and their neighbours are looked at all the same. Tells why `directory` could not be read to its
/// end.
std::error_code search(const fs::path& directory, std::vector<fs::path>& found) {
  std::error_code failed;
  for (auto at = fs::directory_iterator(directory, failed); !failed && at != end(at);
       at.increment(failed)) {
    std::error_code ignored;
    if (is_run_directory(at->path())) {
      found.push_back(at->path());
    } else if (at->is_directory(ignored) &&
               !at->is_symlink(ignored)) {  // a link may lead back here
      search(at->path(), found);
    }
  }
  return failed;
}

/// The whole log of a run, also of one that is not whole.
std::string read_log(const fs::path& root) {
  const fs::path log = RunPaths{root}.log();
  std::error_code failed;
  if (!fs::is_regular_file(log, failed)) {  // a pipe would be waited for
    throw UsageError(fmt::format("{} is not a file that can be read{}", log.string(),
                                 failed ? ": " + failed.message() : ""));
  }
  return read_file(log);
}

}  // namespace

void add_log_line(std::string_view text, RunRecord& run) {
  const json line = json::parse(text, nullptr, false);
  if (line.is_object()) add_line(line, run);
}

RunRecord read_run_record(const fs::path& root) {
  RunRecord run;
  run.root = root;
  run.config = read_run_config(root);
  run.state = kPartial;
  std::istringstream lines(read_log(root));
  for (std::string text; std::getline(lines, text);) add_log_line(text, run);
  if (run.state == kPartial && directory_is_held(root)) run.state = kRunning;
  return run;
}

std::vector<fs::path> find_runs(const fs::path& directory) {
  if (is_run_directory(directory)) return {directory};
  std::error_code failed;
  if (!fs::is_directory(directory, failed)) {
    throw UsageError(fmt::format("{} is not a directory{}", directory.string(),
                                 failed ? ": " + failed.message() : ""));
  }
  std::vector<fs::path> found;
  failed = search(directory, found);
  if (failed) fail_io("read the directory", directory, failed.value());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<RunRecord> read_runs(const fs::path& directory) {
  std::vector<RunRecord> runs;
  for (const fs::path& path : find_runs(directory)) {
    try {
      runs.push_back(read_run_record(path.lexically_normal()));
    } catch (const std::exception& error) {  // one damaged run does not hide the others
      log_warning(fmt::format("{} is left out: {}", path.string(), error_text(error)));
    }
  }
  return runs;
}

std::string to_json(const std::vector<RunRecord>& runs) {
  ordered_json all = ordered_json::array();
  for (const RunRecord& run : runs) all.push_back(json_of(run));
  return json_text(all);
}

std::string log_json(const fs::path& root) {
  check_is_run(root);
  ordered_json all = ordered_json::array();
  std::istringstream lines(read_log(root));
  for (std::string text; std::getline(lines, text);) {
    ordered_json line = ordered_json::parse(text, nullptr, false);
    if (line.is_object()) all.push_back(std::move(line));
  }
  return json_text(all);
}

}  // namespace dsf
