#pragma once

#include "lab/bench/measure.h"
#include "lab/bench/training_step.h"

namespace dsf {

/// A whole training step by each method and precision, beside the time of its GEMMs alone.
/// Uses options only, methods, precisions, batch and steps (the first of each), seconds, profile.
BenchReport bench_step(const BenchOptions& options);

/// The same for configurations of the caller's own.
BenchReport bench_step(const std::vector<StepConfig>& configs, const BenchOptions& options);

}  // namespace dsf
