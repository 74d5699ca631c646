#pragma once

#include "dsf/dist/communicator.h"
#include "lab/bench/measure.h"
#include "lab/bench/training_step.h"

namespace dsf {

/// A training step by 1, 2, 4, ... of the ranks, each with the same number of sequences, with the
/// gradients' journey hidden behind the backward pass and without; and, from one rank's step, the
/// same on published networks up to 1,024 ranks. Measured and modelled lines say which they are.
/// `speedup`: how many times faster the modelled ranks compute than the measured one, having more
/// cores. Called by all ranks; rank 0 gets the report.
BenchReport bench_scale(const BenchOptions& options, Communicator& ranks, double speedup = 1.0);
BenchReport bench_scale(const std::vector<StepConfig>& configs, const BenchOptions& options,
                        Communicator& ranks, double speedup = 1.0);

}  // namespace dsf
