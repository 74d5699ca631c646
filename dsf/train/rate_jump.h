#pragma once

#include "dsf/run/run_config.h"

namespace dsf {

/// Warns if a run that stands at `step` goes on with a learning rate far above its last one: a
/// cosine that is stretched over more steps rises again.
void warn_of_rate_jump(const RunConfig& before, const RunConfig& now, dim_t step,
                       dim_t steps_per_epoch);

}  // namespace dsf
