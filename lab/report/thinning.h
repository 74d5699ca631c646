#pragma once

#include "lab/report/figure.h"

namespace dsf {

/// More points than this on one curve cannot be told apart in a figure.
inline constexpr std::size_t kMostPointsDrawn = 2000;

/// `curve` with at most kMostPointsDrawn points: of each stretch of the curve its lowest and its
/// highest point stay, in their order, so that no peak is lost; the first and the last point stay
/// too. A curve that is short enough stays as it is.
Curve thinned(const Curve& curve);

}  // namespace dsf
