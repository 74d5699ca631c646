#pragma once

// The same model trained by several feedback methods on the same text: one run directory a method.

#include <filesystem>
#include <string>
#include <vector>

#include "dsf/train/training_run.h"
#include "lab/report/figure.h"
#include "lab/report/table.h"

namespace dsf {

struct Comparison {
  std::vector<Assignment> assignments;  ///< of all runs
  std::vector<std::string> methods;     ///< feedback.method of each run
  std::filesystem::path out;            ///< run directories are out/<method>
  bool warms_up =
      false;  ///< a few steps that do not count, in out/warm-up, go before the first run
};

/// One method's run.
struct ComparedRun {
  std::string method;
  RunSummary summary;
  std::vector<EvalReport> evaluations;
};

/// Trains one method after the other; runs that are there already go on. Stops early if `stop` asks for it, with the runs that took
/// a step.
std::vector<ComparedRun> run_comparison(const Comparison& comparison, const StopRequest& stop);

/// Validation perplexity, tokens/s, and where the time of a step goes.
Table comparison_table(const std::vector<ComparedRun>& runs);

/// Validation perplexity over steps, one curve per method.
Figure comparison_figure(const std::string& title, const std::vector<ComparedRun>& runs);

}  // namespace dsf
