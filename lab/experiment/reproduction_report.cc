#include "lab/experiment/reproduction_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "dsf/feedback/feedback_method.h"
#include "dsf/train/progress.h"

namespace dsf {
namespace {

std::optional<double> mean_of(const ModelRuns& model, const std::string& method) {
  const auto statistics = model.perplexity(method);
  return statistics ? std::optional(statistics->mean) : std::nullopt;
}

std::optional<double> paper_of(const ModelRuns& model, const std::string& method) {
  const auto& stated = model.model.paper.perplexities;
  const auto found = stated.find(method);
  return found == stated.end() ? std::nullopt : std::optional(found->second);
}

// Whether BPTT <= DSF <= FT-BPTT, as in the paper's tables.
std::optional<bool> dsf_between(const ModelRuns& model) {
  const auto bptt = mean_of(model, "bptt");
  const auto dsf = mean_of(model, "dsf");
  const auto ft = mean_of(model, "ft");
  if (!bptt || !dsf || !ft) return std::nullopt;
  return *bptt <= *dsf && *dsf <= *ft;
}

dim_t parameters_of(const ModelRuns& model) {
  for (const MethodRuns& runs : model.methods) {
    if (!runs.runs.empty()) return runs.runs.front().parameters;
  }
  return 0;
}

std::string millions(const std::optional<double>& count) {
  return count ? fmt::format("{:.1f}M", *count) : "-";
}

const std::vector<std::string> kColumns = {"bptt", "ft", "dsf"};

double validation_perplexity(const EvalPoint& point) { return point.perplexity; }
double training_perplexity(const EvalPoint& point) { return std::exp(point.train_loss); }

/// The mean of the runs' values at each evaluation that all of them have, if it is finite.
Curve mean_curve(const MethodRuns& runs, double (*value)(const EvalPoint&)) {
  Curve curve{feedback_title(runs.method), runs.method, {}, {}};
  const std::vector<EvalPoint>& places = runs.runs.front().evaluations;
  std::size_t shared = places.size();
  for (const RunRecord& run : runs.runs) shared = std::min(shared, run.evaluations.size());
  for (std::size_t i = 0; i < shared; ++i) {
    double mean = 0.0;
    for (const RunRecord& run : runs.runs) {
      mean += value(run.evaluations[i]) / static_cast<double>(runs.runs.size());
    }
    if (!std::isfinite(mean)) continue;
    curve.x.push_back(places[i].epoch);
    curve.y.push_back(mean);
  }
  return curve;
}

}  // namespace

Table reproduction_table(const std::vector<ModelRuns>& models) {
  std::vector<std::string> headings = {"model", "parameters", "paper"};
  for (const std::string& method : kColumns) {
    headings.insert(headings.end(), {feedback_title(method), "paper"});
  }
  headings.insert(headings.end(), {"DSF/BPTT", "paper", "FT/BPTT", "paper", "DSF between"});
  Table table(std::move(headings));
  for (const ModelRuns& model : models) {
    std::vector<std::string> row = {model.model.name,
                                    format_count(static_cast<double>(parameters_of(model))),
                                    millions(model.model.paper.parameters)};
    for (const std::string& method : kColumns) {
      row.push_back(cell(model.perplexity(method)));
      row.push_back(cell(paper_of(model, method), 2));
    }
    for (const char* method : {"dsf", "ft"}) {
      row.push_back(cell(ratio(mean_of(model, method), mean_of(model, "bptt")), 3));
      row.push_back(cell(ratio(paper_of(model, method), paper_of(model, "bptt")), 3));
    }
    const auto between = dsf_between(model);
    row.emplace_back(!between ? "-" : *between ? "yes" : "no");
    table.add_row(std::move(row));
  }
  return table;
}

std::string reproduction_json(const PaperExperiment& experiment,
                              const std::vector<ModelRuns>& models) {
  nlohmann::ordered_json json = {{"experiment", experiment.name},
                                 {"source", experiment.source},
                                 {"title", experiment.title},
                                 {"models", nlohmann::ordered_json::array()}};
  for (const ModelRuns& model : models) {
    nlohmann::ordered_json row = {
        {"model", model.model.name},
        {"parameters", parameters_of(model)},
        {"paper_parameters_millions", or_null(model.model.paper.parameters)}};
    for (const MethodRuns& runs : model.methods) {
      const auto statistics = model.perplexity(runs.method);
      nlohmann::ordered_json perplexities = nlohmann::ordered_json::array();
      for (const RunRecord& run : runs.runs) perplexities.push_back(*run.best_perplexity);
      row[runs.method] = {
          {"perplexity", or_null(mean_of(model, runs.method))},
          {"deviation", statistics ? nlohmann::ordered_json(statistics->deviation) : nullptr},
          {"seeds", runs.seeds},
          {"runs", perplexities},
          {"paper", or_null(paper_of(model, runs.method))}};
    }
    for (const char* method : {"dsf", "ft"}) {
      row[std::string(method) + "_to_bptt"] =
          or_null(ratio(mean_of(model, method), mean_of(model, "bptt")));
      row[std::string("paper_") + method + "_to_bptt"] =
          or_null(ratio(paper_of(model, method), paper_of(model, "bptt")));
    }
    const auto between = dsf_between(model);
    row["dsf_between"] = between ? nlohmann::ordered_json(*between) : nlohmann::ordered_json();
    json["models"].push_back(std::move(row));
  }
  return json.dump(2) + "\n";
}

Figure reproduction_figure(const PaperExperiment& experiment,
                           const std::vector<ModelRuns>& models) {
  Figure figure{.title = experiment.title,
                .x_label = experiment.x_label,
                .y_label = "best validation perplexity"};
  if (experiment.has_named_axis) {
    for (const ModelRuns& model : models) figure.x_names.push_back(model.model.x_name);
  }
  for (const std::string& method : kColumns) {
    Curve curve{feedback_title(method), method, {}, {}};
    double place = 0.0;
    for (const ModelRuns& model : models) {
      place += 1.0;
      const auto perplexity = mean_of(model, method);
      if (!perplexity) continue;
      curve.x.push_back(experiment.has_named_axis ? place : model.model.x);
      curve.y.push_back(*perplexity);
    }
    if (!curve.x.empty()) figure.curves.push_back(std::move(curve));
  }
  return figure;
}

std::vector<NamedFigure> curve_figures(const std::vector<ModelRuns>& models) {
  std::vector<NamedFigure> figures;
  for (const ModelRuns& model : models) {
    Figure figure{.title = model.model.name,
                  .x_label = "epochs",
                  .y_label = "perplexity (thin: training, thick: validation)",
                  .log_y = true};
    for (const MethodRuns& runs : model.methods) {
      if (runs.runs.empty()) continue;
      figure.curves.push_back(mean_curve(runs, validation_perplexity));
      Curve training = mean_curve(runs, training_perplexity);
      training.faint = true;
      training.label.clear();
      if (!training.x.empty()) figure.curves.push_back(std::move(training));
    }
    if (figure.curves.empty()) continue;
    figures.push_back({"curves_" + model.model.name, std::move(figure)});
  }
  return figures;
}

}  // namespace dsf
