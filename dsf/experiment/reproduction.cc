#include "dsf/experiment/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "dsf/experiment/comparison.h"
#include "dsf/experiment/log_line.h"
#include "dsf/train/progress.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

// One run of the grid.
struct GridRun {
  fs::path root;
  std::vector<Assignment> assignments;
};

/// Of a method; `rate`: in place of the settings' own.
GridRun grid_run(const Reproduction& reproduction, const PaperModel& model,
                 const std::string& method, std::optional<double> rate, dim_t seed) {
  std::string name = method;
  std::replace(name.begin(), name.end(), ':', '-');
  if (rate) name += fmt::format("_lr{}", *rate);
  if (seed > 1) name += fmt::format("_s{}", seed);
  GridRun run = {reproduction.out / model.name / name, settings_of(reproduction, model)};
  const auto assign = [&run](const char* key, const std::string& value) {
    run.assignments.push_back(parse_assignment(key, value, "the grid"));
  };
  assign("feedback.method", method);
  if (rate) assign("train.lr", fmt::format("{}", *rate));
  assign("train.seed", fmt::format("{}", seed));
  return run;
}

void check_same_settings(const GridRun& run) {
  RunConfig wanted = with_assignments(RunConfig(), run.assignments);
  resolve(wanted);
  RunConfig stored = read_run_config(run.root);
  stored.train.threads = wanted.train.threads;  // changes no result
  if (to_toml(stored) == to_toml(wanted)) return;
  throw UsageError(fmt::format(
      "{} holds a finished run with other settings (another --scale, --data or --set?); "
      "choose another --out",
      run.root.string()));
}

// False where the run was stopped.
bool train(const GridRun& run, const StopRequest& stop) {
  RunRequest request;
  request.out = run.root;
  request.assignments = run.assignments;
  request.resume = is_run_directory(run.root);
  log_info(fmt::format("\n{} {}", request.resume ? "resuming" : "training", run.root.string()));
  ProgressDisplay progress;
  try {
    const RunSummary summary = run_training(request, progress, stop);
    clear_live_line();
    return !summary.interrupted;
  } catch (const DivergenceError& error) {
    clear_live_line();
    log_warning(fmt::format("{}: {}", run.root.string(), error.what()));
    return true;
  }
}

// A run whose perplexities are all beyond counting has diverged without saying so.
bool has_diverged(const fs::path& root) {
  if (!is_run_directory(root)) return false;
  const RunRecord run = read_run_record(root);
  return run.state == "diverged" || (run.state == "done" && !run.best_perplexity);
}

/// Trains the runs of a grid that are missing.
class GridTrainer {
 public:
  GridTrainer(const Reproduction& reproduction, const StopRequest& stop)
      : reproduction_(reproduction), stop_(stop) {}

  MethodRuns train_method(const PaperModel& model, const std::string& method) {
    MethodRuns result{method, reproduction_.seeds, {}, {}, {}};
    std::optional<FinishedRun> first;
    if (model.rates.empty() || rate_is_given()) {
      first = finish(grid_run(reproduction_, model, method, {}, 1));
    } else {
      first = tune(model, result);
    }
    if (!first) return result;  // seed 1 diverged or was stopped: no rate is known for the others
    result.runs.push_back(std::move(*first));
    for (dim_t seed = 2; seed <= reproduction_.seeds; ++seed) {
      auto run = finish(grid_run(reproduction_, model, method, result.rate, seed));
      if (run) result.runs.push_back(std::move(*run));
    }
    return result;
  }

 private:
  bool rate_is_given() const {
    const auto& given = reproduction_.assignments;
    return std::any_of(given.begin(), given.end(), [](const Assignment& assignment) {
      return assignment.field->section == "train" && assignment.field->key == "lr";
    });
  }

  /// The run of seed 1 with the best of the model's learning rates.
  std::optional<FinishedRun> tune(const PaperModel& model, MethodRuns& result) {
    std::optional<FinishedRun> best;
    for (const double rate : model.rates) {
      auto run = finish(grid_run(reproduction_, model, result.method, rate, 1));
      if (!run) continue;
      result.tuning[rate] = run->best_perplexity;
      if (best && best->best_perplexity <= run->best_perplexity) continue;
      result.rate = rate;
      best = std::move(run);
    }
    return best;
  }

  std::optional<FinishedRun> finish(const GridRun& run) {
    auto finished = read_finished_run(run.root);
    if (finished) {
      check_same_settings(run);
    } else if (!stopped_ && !has_diverged(run.root)) {
      stopped_ = !train(run, stop_);
      finished = read_finished_run(run.root);
    }
    return finished;
  }

  const Reproduction& reproduction_;
  const StopRequest& stop_;
  bool stopped_ = false;
};

// --- numbers -------------------------------------------------------------------------------------

std::optional<double> mean_of(const ModelRuns& model, const std::string& method) {
  const auto statistics = model.perplexity(method);
  return statistics ? std::optional(statistics->mean) : std::nullopt;
}

std::optional<double> paper_of(const ModelRuns& model, const std::string& method) {
  const auto found = model.model.paper.find(method);
  return found == model.model.paper.end() ? std::nullopt : std::optional(found->second);
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

const std::vector<std::string> kColumns = {"bptt", "ft", "dsf"};

/// The mean of the runs' perplexities at each evaluation, where it is finite. All runs have the
/// same evaluations.
Curve mean_curve(const MethodRuns& runs) {
  Curve curve{method_title(runs.method), runs.method, {}, {}};
  const std::vector<double>& epochs = runs.runs.front().epochs;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    double mean = 0.0;
    for (const FinishedRun& run : runs.runs) {
      mean += run.perplexities[i] / static_cast<double>(runs.runs.size());
    }
    if (!std::isfinite(mean)) continue;
    curve.x.push_back(epochs[i]);
    curve.y.push_back(mean);
  }
  return curve;
}

}  // namespace

std::vector<Assignment> settings_of(const Reproduction& reproduction, const PaperModel& model) {
  std::vector<Assignment> assignments;
  for (const std::string& setting : model.settings) {
    assignments.push_back(parse_assignment(setting));
  }
  assignments.insert(assignments.end(), reproduction.assignments.begin(),
                     reproduction.assignments.end());
  if (!model.corpus.empty()) {
    assignments.push_back(parse_assignment("data.corpus", model.corpus, "the grid"));
  }
  return assignments;
}

std::optional<Statistics> ModelRuns::perplexity(const std::string& method) const {
  std::vector<double> values;
  dim_t wanted = 0;
  for (const MethodRuns& runs : methods) {
    if (runs.method != method) continue;
    for (const FinishedRun& run : runs.runs) values.push_back(run.best_perplexity);
    wanted += runs.seeds;
  }
  return statistics_of(values, wanted);
}

std::optional<FinishedRun> read_finished_run(const fs::path& root) {
  if (!is_run_directory(root)) return std::nullopt;
  FinishedRun run;
  run.root = root;
  bool done = false;
  std::istringstream lines(read_file(RunPaths{root}.log()));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;  // a line that a crash tore
    const std::string event = text_at(json, "event");
    if (event == "eval") {
      run.steps.push_back(number_at(json, "step"));
      run.epochs.push_back(number_at(json, "epoch"));
      run.perplexities.push_back(number_at(json, "perplexity"));
    } else if (event == "done") {
      run.best_perplexity = number_at(json, "best_perplexity");
      run.parameters = count_at(json, "parameters", 0);
      run.tokens_per_second = number_at(json, "tokens_per_second");
      done = std::isfinite(run.best_perplexity);
    }
  }
  return done ? std::optional(std::move(run)) : std::nullopt;
}

std::vector<ModelRuns> run_reproduction(const Reproduction& reproduction, const StopRequest& stop) {
  GridTrainer trainer(reproduction, stop);
  std::vector<ModelRuns> models;
  for (const PaperModel& model : reproduction.experiment.models) {
    ModelRuns& result = models.emplace_back(ModelRuns{model, {}});
    for (const std::string& method : model.methods) {
      result.methods.push_back(trainer.train_method(model, method));
    }
  }
  return models;
}

Table reproduction_table(const std::vector<ModelRuns>& models) {
  std::vector<std::string> headings = {"model", "parameters"};
  for (const std::string& method : kColumns) {
    headings.insert(headings.end(), {method_title(method), "paper"});
  }
  headings.insert(headings.end(), {"DSF/BPTT", "paper", "FT/BPTT", "paper", "DSF between"});
  Table table(std::move(headings));
  for (const ModelRuns& model : models) {
    std::vector<std::string> row = {model.model.name,
                                    format_count(static_cast<double>(parameters_of(model)))};
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
    nlohmann::ordered_json row = {{"model", model.model.name},
                                  {"parameters", parameters_of(model)}};
    for (const MethodRuns& runs : model.methods) {
      const auto statistics = model.perplexity(runs.method);
      nlohmann::ordered_json perplexities = nlohmann::ordered_json::array();
      for (const FinishedRun& run : runs.runs) perplexities.push_back(run.best_perplexity);
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
  Figure figure{experiment.title, experiment.x_label, "best validation perplexity", false, {}};
  for (const std::string& method : kColumns) {
    Curve curve{method_title(method), method, {}, {}};
    for (const ModelRuns& model : models) {
      const auto perplexity = mean_of(model, method);
      if (!perplexity) continue;
      curve.x.push_back(model.model.x);
      curve.y.push_back(*perplexity);
    }
    if (!curve.x.empty()) figure.curves.push_back(std::move(curve));
  }
  return figure;
}

std::vector<NamedFigure> curve_figures(const std::vector<ModelRuns>& models) {
  std::vector<NamedFigure> figures;
  for (const ModelRuns& model : models) {
    NamedFigure named{"curves_" + model.model.name,
                      {model.model.name, "epochs", "validation perplexity", true, {}}};
    for (const MethodRuns& runs : model.methods) {
      if (!runs.runs.empty()) named.figure.curves.push_back(mean_curve(runs));
    }
    if (!named.figure.curves.empty()) figures.push_back(std::move(named));
  }
  return figures;
}

}  // namespace dsf
