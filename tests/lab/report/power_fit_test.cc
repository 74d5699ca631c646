#include "lab/report/power_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dsf {
namespace {

TEST(PowerFit, FindsTheExponentOfAPower) {
  const std::vector<double> x = {2, 4, 8, 16};
  std::vector<double> y;
  for (const double value : x) y.push_back(3.0 * std::pow(value, 1.7));
  const auto fit = fit_power(x, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->exponent, 1.7, 1e-12);
  EXPECT_NEAR(fit->error, 0.0, 1e-12);
}

// log2 x = 1, 2, 3 and log2 y = 0, 3, 0: the line is level at 1, off by -1, 2, -1. Residual
// variance 6 / (3 - 2), spread of x 2: a standard error of sqrt(3).
TEST(PowerFit, ErrorIsThatOfTheSlope) {
  const auto fit = fit_power({2, 4, 8}, {1, 8, 1});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->exponent, 0.0, 1e-12);
  EXPECT_NEAR(fit->error, std::sqrt(3.0), 1e-12);
}

TEST(PowerFit, NeedsThreePositivePoints) {
  EXPECT_FALSE(fit_power({1, 2}, {1, 2}));
  EXPECT_FALSE(fit_power({1, 2, 4}, {1, 0, 2}));
}

}  // namespace
}  // namespace dsf
