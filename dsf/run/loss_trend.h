#pragma once

#include "dsf/base/dim.h"

namespace dsf {

/// The usual loss of a batch, to notice one that is far above it. Over about the last 100 steps, at
/// first over all there are:
///
///   r = max(1/n, 1/100),  d = loss - mean,  mean += r d,  variance = (1 - r) (variance + r d^2)
struct LossTrend {
  double mean = 0.0;
  double variance = 0.0;
  dim_t steps = 0;

  /// True if the next loss would be a spike: more than 6 deviations and 0.1 nats above the mean
  /// of 50 steps or more. Losses of batches are near enough to normal for that not to come by
  /// chance, and a deviation near zero (one batch again and again) must not make it common.
  bool is_spike(double loss) const;
  void add(double loss);
};

}  // namespace dsf
