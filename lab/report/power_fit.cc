#include "lab/report/power_fit.h"

#include <algorithm>
#include <cmath>

namespace dsf {

std::optional<PowerFit> fit_power(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const auto positive = [](double value) { return value > 0.0; };
  if (x.size() < 3 || !std::all_of(x.begin(), x.end(), positive) ||
      !std::all_of(y.begin(), y.end(), positive)) {
    return std::nullopt;
  }
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  double xx = 0.0;
  double xy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
    xy += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
  }
  PowerFit fit;
  fit.exponent = xy / xx;
  double squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = std::log(y[i]) - mean_y - fit.exponent * (std::log(x[i]) - mean_x);
    squares += off * off;
  }
  fit.error = std::sqrt(squares / (n - 2.0) / xx);
  return fit;
}

}  // namespace dsf
