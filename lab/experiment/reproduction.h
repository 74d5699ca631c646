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

#include "dsf/run/run_record.h"
#include "dsf/train/training_run.h"
#include "lab/experiment/paper_experiments.h"
#include "lab/report/statistics.h"

namespace dsf {

struct Reproduction {
  PaperExperiment experiment;
  std::vector<Assignment> assignments;  ///< the corpus, and what overrides the models' settings
  std::filesystem::path out;
  dim_t seeds = 1;  ///< runs with train.seed = 1, 2, ...
};

/// The settings of a model's runs except method, learning rate and seed.
std::vector<Assignment> settings_of(const Reproduction& reproduction, const PaperModel& model);

/// The runs of a model by one method, one a seed.
struct MethodRuns {
  std::string method;
  dim_t seeds = 1;                  ///< runs that were wanted
  std::vector<RunRecord> runs;      ///< finished; fewer than seeds if they diverged or were stopped
  std::optional<double> rate = {};  ///< chosen, if there was a choice
  std::map<double, double> tuning = {};  ///< best perplexity of seed 1 by learning rate
};

struct ModelRuns {
  PaperModel model;
  std::vector<MethodRuns> methods;

  /// Best validation perplexity over the seeds.
  std::optional<Statistics> perplexity(const std::string& method) const;
};

/// Trains what is missing. Stops early, with what there is, if `stop` asks for it. A run that
/// diverges is left out with a warning, and not tried again. Throws UsageError if `out` has a
/// run of other settings.
std::vector<ModelRuns> run_reproduction(const Reproduction& reproduction, const StopRequest& stop);

}  // namespace dsf
