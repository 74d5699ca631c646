#include "dsf/experiment/reproduction.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "dsf/experiment/comparison.h"
#include "dsf/train/progress.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

// One run of the grid.
struct GridRun {
  fs::path root;
  std::vector<Assignment> assignments;
};

GridRun grid_run(const Reproduction& reproduction, const PaperModel& model,
                 const std::string& method, dim_t seed) {
  std::string name = method;
  if (seed > 1) name += fmt::format("_s{}", seed);
  GridRun run = {reproduction.out / model.name / name, {}};
  for (const std::string& setting : model.settings) {
    run.assignments.push_back(parse_assignment(setting));
  }
  run.assignments.insert(run.assignments.end(), reproduction.assignments.begin(),
                         reproduction.assignments.end());
  run.assignments.push_back(parse_assignment("feedback.method", method, "the grid"));
  run.assignments.push_back(parse_assignment("train.seed", fmt::format("{}", seed), "the grid"));
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

// --- numbers -------------------------------------------------------------------------------------

struct Statistics {
  double mean = 0.0;
  double deviation = 0.0;  // of a single run; 0 for one run
};

std::optional<Statistics> perplexity_of(const ModelRuns& model, const std::string& method) {
  for (const MethodRuns& runs : model.methods) {
    if (runs.method != method || runs.runs.empty()) continue;
    const auto count = static_cast<double>(runs.runs.size());
    Statistics s;
    for (const FinishedRun& run : runs.runs) s.mean += run.best_perplexity / count;
    double squares = 0.0;
    for (const FinishedRun& run : runs.runs) {
      squares += (run.best_perplexity - s.mean) * (run.best_perplexity - s.mean);
    }
    if (count > 1.0) s.deviation = std::sqrt(squares / (count - 1.0));
    return s;
  }
  return std::nullopt;
}

std::optional<double> mean_of(const ModelRuns& model, const std::string& method) {
  const auto statistics = perplexity_of(model, method);
  return statistics ? std::optional(statistics->mean) : std::nullopt;
}

std::optional<double> paper_of(const ModelRuns& model, const std::string& method) {
  const auto found = model.model.paper.find(method);
  return found == model.model.paper.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> ratio(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a / *b) : std::nullopt;
}

// Whether BPTT <= DSF <= FT-BPTT, as in the paper's tables.
std::optional<bool> dsf_between(const ModelRuns& model) {
  const auto bptt = mean_of(model, "bptt");
  const auto dsf = mean_of(model, "dsf");
  const auto ft = mean_of(model, "ft");
  if (!bptt || !dsf || !ft) return std::nullopt;
  return *bptt <= *dsf && *dsf <= *ft;
}

std::string cell(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string cell(const std::optional<Statistics>& value) {
  if (!value) return "-";
  if (value->deviation == 0.0) return cell(value->mean, 2);
  return fmt::format("{:.2f} ± {:.2f}", value->mean, value->deviation);
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

dim_t parameters_of(const ModelRuns& model) {
  for (const MethodRuns& runs : model.methods) {
    if (!runs.runs.empty()) return runs.runs.front().parameters;
  }
  return 0;
}

const std::vector<std::string> kColumns = {"bptt", "ft", "dsf"};

}  // namespace

std::optional<FinishedRun> read_finished_run(const fs::path& root) {
  if (!is_run_directory(root)) return std::nullopt;
  FinishedRun run;
  bool done = false;
  std::istringstream lines(read_file(RunPaths{root}.log()));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;  // a line that a crash tore
    const std::string event = json.value("event", "");
    if (event == "eval") {
      run.steps.push_back(json.at("step").get<double>());
      run.perplexities.push_back(json.at("perplexity").get<double>());
    } else if (event == "done" && json.at("best_perplexity").is_number()) {
      done = true;
      run.best_perplexity = json.at("best_perplexity").get<double>();
      run.parameters = json.at("parameters").get<dim_t>();
      run.tokens_per_second = json.at("tokens_per_second").get<double>();
    }
  }
  return done ? std::optional(std::move(run)) : std::nullopt;
}

std::vector<ModelRuns> run_reproduction(const Reproduction& reproduction, const StopRequest& stop) {
  std::vector<ModelRuns> models;
  bool stopped = false;
  for (const PaperModel& model : reproduction.experiment.models) {
    ModelRuns& result = models.emplace_back(ModelRuns{model, {}});
    for (const std::string& method : model.methods) {
      MethodRuns& runs = result.methods.emplace_back(MethodRuns{method, {}});
      for (dim_t seed = 1; seed <= reproduction.seeds; ++seed) {
        const GridRun run = grid_run(reproduction, model, method, seed);
        std::optional<FinishedRun> finished = read_finished_run(run.root);
        if (finished) {
          check_same_settings(run);
        } else if (!stopped) {
          stopped = !train(run, stop);
          finished = read_finished_run(run.root);
        }
        if (finished) runs.runs.push_back(std::move(*finished));
      }
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
      row.push_back(cell(perplexity_of(model, method)));
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
      const auto statistics = perplexity_of(model, runs.method);
      nlohmann::ordered_json perplexities = nlohmann::ordered_json::array();
      for (const FinishedRun& run : runs.runs) perplexities.push_back(run.best_perplexity);
      row[runs.method] = {
          {"perplexity", or_null(mean_of(model, runs.method))},
          {"deviation", statistics ? nlohmann::ordered_json(statistics->deviation) : nullptr},
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

}  // namespace dsf
