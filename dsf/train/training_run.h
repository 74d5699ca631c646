#pragma once

// `dsf train` without the command line: from a request to a finished run directory.

#include <filesystem>
#include <vector>

#include "dsf/run/config_file.h"
#include "dsf/train/train_observer.h"

namespace dsf {

class Communicator;

/// What `dsf train` was asked for.
struct RunRequest {
  std::filesystem::path out;
  std::vector<Assignment> assignments;  ///< lowest precedence first
  bool resume = false;
  bool force = false;
  bool force_memory = false;  ///< train even if the machine seems too small
};

/// Starts or resumes a run and trains it. Whatever is wrong with configuration, data or directory
/// is found before the first file is written or removed.
RunSummary run_training(
    const RunRequest& request, TrainObserver& observer, const StopRequest& stop = [] { return 0; });

/// The same by several ranks, all of which call it with the same request. Each needs the corpus, and
/// for a run to resume the run directory; rank 0 alone writes to it and tells the observer.
RunSummary run_training(const RunRequest& request, TrainObserver& observer, const StopRequest& stop,
                        Communicator& ranks);

}  // namespace dsf
