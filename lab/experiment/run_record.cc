#include "lab/experiment/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "dsf/base/directory_lock.h"
#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/io_failure.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/run/run_directory.h"
#include "dsf/train/progress.h"
#include "dsf/train/training_run.h"
#include "lab/experiment/log_line.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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

std::string or_dash(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string steps_text(const RunRecord& run) {
  return run.total_steps == 0 ? fmt::format("{}", run.step)
                              : fmt::format("{}/{}", run.step, run.total_steps);
}

/// What a curve draws: a value of each point.
template <typename Point>
Curve curve_of(const std::string& label, const std::string& method,
               const std::vector<Point>& points, double Point::*value) {
  Curve curve{label, method, {}, {}};
  for (const Point& point : points) {
    if (!std::isfinite(point.step) || !std::isfinite(point.*value)) continue;
    curve.x.push_back(point.step);
    curve.y.push_back(point.*value);
  }
  return curve;
}

/// Short if that tells the runs apart; a method's own colour if no other run has it.
struct Labels {
  explicit Labels(const std::vector<RunRecord>& runs) {
    std::set<std::string> names;
    std::set<std::string> methods;
    for (const RunRecord& run : runs) {
      names.insert(name_of(run));
      methods.insert(run.config.feedback.method);
    }
    short_names_ = names.size() == runs.size();
    own_methods_ = methods.size() == runs.size();
  }

  std::string label(const RunRecord& run) const {
    return short_names_ ? name_of(run) : run.root.string();
  }
  std::string method(const RunRecord& run) const {
    return own_methods_ ? run.config.feedback.method : "";
  }

 private:
  static std::string name_of(const RunRecord& run) {
    return fs::absolute(run.root).lexically_normal().filename().string();
  }

  bool short_names_ = true;
  bool own_methods_ = true;
};

template <typename Point>
NamedFigure figure_of(const std::vector<RunRecord>& runs, const char* name, const char* title,
                      std::vector<Point> RunRecord::*points, double Point::*value) {
  const Labels labels(runs);
  NamedFigure named{name, {.title = title, .x_label = "training steps", .y_label = title}};
  for (const RunRecord& run : runs) {
    named.figure.curves.push_back(
        curve_of(labels.label(run), labels.method(run), run.*points, value));
  }
  return named;
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
  const fs::path log = RunPaths{root}.log();
  std::error_code failed;
  if (!fs::is_regular_file(log, failed)) {  // a pipe would be waited for
    throw UsageError(fmt::format("{} is not a file that can be read{}", log.string(),
                                 failed ? ": " + failed.message() : ""));
  }
  std::istringstream lines(read_file(log));
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

Table run_table(const std::vector<RunRecord>& runs) {
  Table table(
      {"run", "state", "method", "model", "parameters", "steps", "best ppl", "tokens/s", "time"});
  for (const RunRecord& run : runs) {
    const ModelConfig& model = run.config.model;
    table.add_row({run.root.string(), run.state, feedback_title(run.config.feedback.method),
                   fmt::format("{} {}x{}", name_of(model.mixer), model.layers, model.hidden),
                   format_count(static_cast<double>(run.parameters)), steps_text(run),
                   or_dash(run.best_perplexity), format_count(run.tokens_per_second),
                   format_duration(run.seconds)});
  }
  return table;
}

std::vector<NamedFigure> run_figures(const std::vector<RunRecord>& runs) {
  std::vector<NamedFigure> figures;
  figures.push_back(
      figure_of(runs, "loss", "training loss", &RunRecord::training, &TrainPoint::loss));
  if (runs.size() == 1) {
    Figure& loss = figures.back().figure;
    loss.title = loss.y_label = "loss";
    loss.curves = {curve_of("training", "", runs[0].training, &TrainPoint::loss),
                   curve_of("validation", "dsf", runs[0].evaluations, &EvalPoint::loss)};
  }
  figures.push_back(figure_of(runs, "perplexity", "validation perplexity", &RunRecord::evaluations,
                              &EvalPoint::perplexity));
  figures.push_back(figure_of(runs, "learning_rate", "learning rate", &RunRecord::training,
                              &TrainPoint::learning_rate));
  figures.push_back(figure_of(runs, "gradient_norm", "gradient norm", &RunRecord::training,
                              &TrainPoint::gradient_norm));
  figures.push_back(figure_of(runs, "tokens_per_second", "tokens per second", &RunRecord::training,
                              &TrainPoint::tokens_per_second));
  for (NamedFigure& named : figures) {
    std::erase_if(named.figure.curves, [](const Curve& curve) { return curve.x.empty(); });
  }
  std::erase_if(figures, [](const NamedFigure& named) { return named.figure.curves.empty(); });
  return figures;
}

}  // namespace dsf
