#pragma once

// Runs an experiment: a grid of ordinary run directories,
// out/<model>/<method>[_lr<rate>][_s<seed>]. A finished run is read back from its log, an
// interrupted one resumed.
//
// Where a model has several learning rates, each method gets the one with which its run of seed 1
// reaches the lowest validation perplexity; further seeds run with that one.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsf/experiment/figure.h"
#include "dsf/experiment/paper_experiments.h"
#include "dsf/experiment/run_record.h"
#include "dsf/experiment/statistics.h"
#include "dsf/experiment/table.h"
#include "dsf/train/training_run.h"

namespace dsf {

struct Reproduction {
  PaperExperiment experiment;
  std::vector<Assignment> assignments;  ///< the corpus, and what overrides the models' settings
  std::filesystem::path out;
  dim_t seeds = 1;  ///< runs with train.seed = 1, 2, ...
};

/// The settings of a model's runs but for method, learning rate and seed.
std::vector<Assignment> settings_of(const Reproduction& reproduction, const PaperModel& model);

/// What a finished run left in its log.
struct FinishedRun {
  std::filesystem::path root;
  double best_perplexity = 0.0;
  dim_t parameters = 0;
  double tokens_per_second = 0.0;
  std::vector<double> steps;         ///< of each evaluation
  std::vector<double> epochs;        ///< likewise
  std::vector<double> perplexities;  ///< likewise; NaN where it was not finite
};

/// Nothing where the run in `root` is not there, not finished, or never had a finite perplexity.
std::optional<FinishedRun> read_finished_run(const std::filesystem::path& root);

/// The runs of a model by one method, one a seed.
struct MethodRuns {
  std::string method;
  dim_t seeds = 1;                       ///< runs that were wanted
  std::vector<FinishedRun> runs;         ///< fewer than seeds where they diverged or were stopped
  std::optional<double> rate = {};       ///< chosen, where there was a choice
  std::map<double, double> tuning = {};  ///< best perplexity of seed 1 by learning rate
};

struct ModelRuns {
  PaperModel model;
  std::vector<MethodRuns> methods;

  /// Best validation perplexity over the seeds.
  std::optional<Statistics> perplexity(const std::string& method) const;
};

/// Trains what is missing. Stops early, with what there is, where `stop` asks for it. A run that
/// diverges is left out with a warning, and not tried again. Throws UsageError where `out` has a
/// finished run of other settings.
std::vector<ModelRuns> run_reproduction(const Reproduction& reproduction, const StopRequest& stop);

/// Ours beside the paper's: perplexities, ratios to BPTT, and whether DSF lies between the two.
Table reproduction_table(const std::vector<ModelRuns>& models);

/// The same for machines, as JSON text.
std::string reproduction_json(const PaperExperiment& experiment,
                              const std::vector<ModelRuns>& models);

/// Best validation perplexity of each model, a curve a method. Mean over the seeds.
Figure reproduction_figure(const PaperExperiment& experiment, const std::vector<ModelRuns>& models);

/// curves_<model>: validation perplexity over the epochs, a curve a method, mean over the seeds.
/// Models without a finished run are left out.
std::vector<NamedFigure> curve_figures(const std::vector<ModelRuns>& models);

}  // namespace dsf
