#include "lab/report/thinning.h"

#include <algorithm>
#include <utility>

namespace dsf {

Curve thinned(const Curve& curve) {
  const std::size_t count = curve.x.size();
  if (count <= kMostPointsDrawn) return curve;
  Curve few = curve;
  few.x.clear();
  few.y.clear();
  const auto keep = [&](std::size_t i) {
    few.x.push_back(curve.x[i]);
    few.y.push_back(curve.y[i]);
  };
  constexpr std::size_t kStretches = (kMostPointsDrawn - 2) / 2;
  keep(0);
  for (std::size_t s = 0; s < kStretches; ++s) {
    const std::size_t begin = 1 + s * (count - 2) / kStretches;
    const std::size_t end = 1 + (s + 1) * (count - 2) / kStretches;
    const auto at = curve.y.begin();
    const auto [low, high] = std::minmax_element(at + static_cast<std::ptrdiff_t>(begin),
                                                 at + static_cast<std::ptrdiff_t>(end));
    const auto [first, second] = std::minmax({low - at, high - at});
    keep(static_cast<std::size_t>(first));
    if (second != first) keep(static_cast<std::size_t>(second));
  }
  keep(count - 1);
  return few;
}

}  // namespace dsf
