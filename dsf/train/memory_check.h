#pragma once

#include "dsf/data/dataset.h"
#include "dsf/run/run_config.h"

namespace dsf {

/// Throws UsageError, with the figure and the ways out, if training would take more memory than
/// this machine can give now: the kernel would kill the process, or others. `processes` of the same
/// size share the machine.
void require_memory(const RunConfig& config, const Dataset& data, int processes);

/// The same for an estimate and an amount that are at hand.
void require_memory(double needed, double available);

}  // namespace dsf
