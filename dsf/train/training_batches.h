#pragma once

#include "dsf/data/batcher.h"
#include "dsf/run/run_config.h"

namespace dsf {

/// Shuffled anew in every epoch by the run's seed. `split` must outlive it.
Batcher training_batches(const RunConfig& config, const Split& split, token_t bos);

}  // namespace dsf
