#pragma once

#include <optional>
#include <vector>

namespace dsf {

/// y = c x^exponent, by least squares of the logarithms; `error`: standard error of the exponent,
/// from what the points are off the line.
struct PowerFit {
  double exponent = 0.0;
  double error = 0.0;
};

/// Nothing for fewer than three points (there would be no error) or one that is not positive.
std::optional<PowerFit> fit_power(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace dsf
