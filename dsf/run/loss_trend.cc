#include "dsf/run/loss_trend.h"

#include <algorithm>
#include <cmath>

namespace dsf {

bool LossTrend::is_spike(double loss) const {
  constexpr dim_t kEnoughSteps = 50;
  constexpr double kDeviations = 6.0;
  constexpr double kNats = 0.1;
  return steps >= kEnoughSteps && loss - mean > std::max(kDeviations * std::sqrt(variance), kNats);
}

void LossTrend::add(double loss) {
  constexpr double kSlowest = 0.01;
  steps += 1;
  const double rate = std::max(1.0 / static_cast<double>(steps), kSlowest);
  const double distance = loss - mean;
  mean += rate * distance;
  variance = (1.0 - rate) * (variance + rate * distance * distance);
}

}  // namespace dsf
