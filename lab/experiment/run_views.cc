#include "lab/experiment/run_views.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "dsf/feedback/feedback_method.h"
#include "dsf/train/progress.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

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
