#pragma once

// `dsf train` without the command line: from a request to a finished run directory.

#include <filesystem>
#include <vector>

#include "dsf/train/config_file.h"
#include "dsf/train/trainer.h"

namespace dsf {

/// What `dsf train` was asked for.
struct RunRequest {
  std::filesystem::path out;
  std::vector<Assignment> assignments;  ///< lowest precedence first
  bool resume = false;
  bool force = false;
  bool force_memory = false;  ///< train even if the machine seems too small
};

/// Starts or resumes a run and trains it. Whatever is wrong with configuration, data or directory
/// is found before the first file is written or removed. Called by all of several ranks with the
/// same request; each needs the corpus, and for a run to resume the run directory, rank 0 alone
/// writes to it and tells the observer.
RunSummary run_training(
    const RunRequest& request, TrainObserver& observer, const StopRequest& stop = [] { return 0; },
    Communicator& ranks = single_process());

/// The configuration a run directory holds. Throws UsageError, ConfigError.
RunConfig read_run_config(const std::filesystem::path& root);

}  // namespace dsf
