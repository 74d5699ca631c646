#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "dsf/train/training_run.h"

namespace dsf {

/// Seconds of a training step of each method over those of FT-BPTT, for the model, the text and the
/// batches of `config` (whose own method does not matter). A method and FT-BPTT take turns, two
/// models in memory at a time, and the ratio is of medians. What `adaptive` spends on
/// its exact batches is spread over the batches in between.
///
/// Ratios in `file` are taken from there, if they are of the same model, CPU and number of threads;
/// what is measured is added to it. Measures nothing more once `stop` asks for it, and leaves out
/// what is missing.
std::map<std::string, double> relative_step_times(const RunConfig& config,
                                                  const std::vector<std::string>& methods,
                                                  const std::filesystem::path& file,
                                                  const StopRequest& stop);

}  // namespace dsf
