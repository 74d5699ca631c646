#pragma once

// Runs an experiment of the paper: a grid of ordinary run directories,
// out/<model>/<method>[_s<seed>]. A finished run is read back from its log, an interrupted one
// resumed.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dsf/experiment/figure.h"
#include "dsf/experiment/paper_experiments.h"
#include "dsf/experiment/table.h"
#include "dsf/train/training_run.h"

namespace dsf {

struct Reproduction {
  PaperExperiment experiment;
  std::vector<Assignment> assignments;  ///< the corpus, and what overrides the models' settings
  std::filesystem::path out;
  dim_t seeds = 1;  ///< runs with train.seed = 1, 2, ...
};

/// What a finished run left in its log.
struct FinishedRun {
  double best_perplexity = 0.0;
  dim_t parameters = 0;
  double tokens_per_second = 0.0;
  std::vector<double> steps;         ///< of each evaluation
  std::vector<double> perplexities;  ///< likewise
};

/// Nothing where the run in `root` is not there or not finished.
std::optional<FinishedRun> read_finished_run(const std::filesystem::path& root);

/// The runs of a model by one method, one a seed.
struct MethodRuns {
  std::string method;
  std::vector<FinishedRun> runs;  ///< fewer than seeds where they diverged or were stopped
};

struct ModelRuns {
  PaperModel model;
  std::vector<MethodRuns> methods;
};

/// Trains what is missing. Stops early, with what there is, where `stop` asks for it. A run that
/// diverges is left out with a warning. Throws UsageError where `out` has a finished run of other
/// settings.
std::vector<ModelRuns> run_reproduction(const Reproduction& reproduction, const StopRequest& stop);

/// Ours beside the paper's: perplexities, ratios to BPTT, and whether DSF lies between the two.
Table reproduction_table(const std::vector<ModelRuns>& models);

/// The same for machines, as JSON text.
std::string reproduction_json(const PaperExperiment& experiment,
                              const std::vector<ModelRuns>& models);

/// Best validation perplexity of each model, a curve a method. Mean over the seeds.
Figure reproduction_figure(const PaperExperiment& experiment, const std::vector<ModelRuns>& models);

}  // namespace dsf
