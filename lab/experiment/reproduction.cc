#include "lab/experiment/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/log.h"
#include "dsf/run/run_directory.h"
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

void check_same_settings(const GridRun& run, RunConfig stored) {
  RunConfig wanted = with_assignments(RunConfig(), run.assignments);
  resolve(wanted);
  stored.train.threads = wanted.train.threads;  // changes no result
  if (to_toml(stored) == to_toml(wanted)) return;
  throw UsageError(
      fmt::format("{} holds a run with other settings (another --scale, --data or --set?); "
                  "choose another --out",
                  run.root.string()));
}

// False if the run was stopped.
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
bool has_diverged(const RunRecord& run) {
  return run.state == "diverged" || (run.state == "done" && !run.best_perplexity);
}

bool is_finished(const RunRecord& run) { return run.state == "done" && run.best_perplexity; }

/// Trains the runs of a grid that are missing.
class GridTrainer {
 public:
  GridTrainer(const Reproduction& reproduction, const StopRequest& stop)
      : reproduction_(reproduction), stop_(stop) {}

  MethodRuns train_method(const PaperModel& model, const std::string& method) {
    MethodRuns result{method, reproduction_.seeds, {}, {}, {}};
    std::optional<RunRecord> first;
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
  std::optional<RunRecord> tune(const PaperModel& model, MethodRuns& result) {
    std::optional<RunRecord> best;
    for (const double rate : model.rates) {
      auto run = finish(grid_run(reproduction_, model, result.method, rate, 1));
      if (!run) continue;
      result.tuning[rate] = *run->best_perplexity;
      if (best && *best->best_perplexity <= *run->best_perplexity) continue;
      result.rate = rate;
      best = std::move(run);
    }
    return best;
  }

  std::optional<RunRecord> finish(const GridRun& run) {
    if (is_run_directory(run.root)) {
      RunRecord before = read_run_record(run.root);
      check_same_settings(run, before.config);
      if (is_finished(before)) return before;
      if (has_diverged(before)) return std::nullopt;
    }
    if (stopped_) return std::nullopt;
    stopped_ = !train(run, stop_);
    if (!is_run_directory(run.root)) return std::nullopt;  // stopped before its first step
    RunRecord after = read_run_record(run.root);
    return is_finished(after) ? std::optional(std::move(after)) : std::nullopt;
  }

  const Reproduction& reproduction_;
  const StopRequest& stop_;
  bool stopped_ = false;
};

}  // namespace

std::vector<Assignment> settings_of(const Reproduction& reproduction, const PaperModel& model) {
  std::vector<Assignment> assignments = parse_assignments(model.settings);
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
    for (const RunRecord& run : runs.runs) values.push_back(*run.best_perplexity);
    wanted += runs.seeds;
  }
  return statistics_of(values, wanted);
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

}  // namespace dsf
