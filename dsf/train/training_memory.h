#pragma once

#include "dsf/data/dataset.h"
#include "dsf/run/run_config.h"

namespace dsf {

/// How much memory a training will take.
struct MemoryEstimate {
  double bytes = 0.0;
  bool at_most = false;  ///< every batch was taken to be full, for its text was not there
};

/// The peak of the resident memory of `dsf train`: the program, the text's tokens, and a training
/// step on the largest batch of the first epoch.
MemoryEstimate estimate_training_memory(const RunConfig& config, const Dataset& data);

/// The same without the text, for batches of train.batch sequences of data.context tokens.
MemoryEstimate estimate_training_memory(const RunConfig& config, dim_t vocab);

}  // namespace dsf
