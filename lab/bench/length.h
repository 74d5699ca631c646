#pragma once

#include "lab/bench/measure.h"
#include "lab/bench/training_step.h"

namespace dsf {

/// A whole training step over sequences of growing length, the number of tokens of a batch held
/// constant: what a token costs. Uses options only (configurations; by default the first), methods
/// (by default dsf), precisions, steps, tokens, seconds.
BenchReport bench_length(const BenchOptions& options);

/// The same for configurations of the caller's own.
BenchReport bench_length(const std::vector<StepConfig>& configs, const BenchOptions& options);

}  // namespace dsf
