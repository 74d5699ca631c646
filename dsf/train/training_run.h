#pragma once

// `dsf train` without the command line: from a request to a finished run directory.

#include <filesystem>
#include <vector>

#include "dsf/run/config_file.h"
#include "dsf/train/trainer.h"

namespace dsf {

/// What `dsf train` was asked for.
struct RunRequest {
  std::filesystem::path out;
  std::vector<Assignment> assignments;  ///< lowest precedence first
  bool resume = false;
  bool force = false;
};

/// Starts or resumes a run and trains it. Whatever is wrong with configuration, data or directory
/// is found before the first file is written or removed. Called by all of several ranks with the
/// same request; each needs the corpus, and for a run to resume the run directory, rank 0 alone
/// writes to it and tells the observer.
RunSummary run_training(
    const RunRequest& request, TrainObserver& observer, const StopRequest& stop = [] { return 0; },
    Communicator& ranks = single_process());

}  // namespace dsf
