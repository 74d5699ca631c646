#pragma once

#include "dsf/base/dim.h"
#include "dsf/kernels/gemm.h"

namespace dsf {

/// What the units that multiply and add can do at most, on all threads of the pool: products of numbers
/// that stay in registers. In f32 those of the vectors; in bf16 those of AMX or AVX512-BF16 if GEMMs use
/// them here, otherwise the vectors' as well.
class PeakRate {
 public:
  explicit PeakRate(Precision precision);

  /// Some tens of milliseconds of work; returns the seconds it took.
  double run();
  /// Floating-point operations of a run, a multiplication and an addition each.
  double flops() const { return flops_; }

 private:
  dim_t (*multiply_adds_)(dim_t rounds, float* sums);
  double flops_ = 0.0;
};

}  // namespace dsf
