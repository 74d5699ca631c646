#include "dsf/kernels/gelu.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/reference/reference_norms.h"
#include "tests/support/random_matrix.h"

namespace dsf {
namespace {

using testing::RandomMatrix;
using testing::reference_gelu;

// Everything after the exponent 2u makes a handful of roundings; the exponent itself, off by a few
// roundings, enters exp as an absolute error. |2u| <= 1.6 (|x| + 0.045 |x|^3).
double relative_error(double x) {
  const double exponent = 1.6 * (std::abs(x) + 0.045 * std::abs(x * x * x));
  return 0.5 * FLT_EPSILON * (8.0 + 4.0 * exponent);
}

// Central difference in double: h^2 truncation against the rounding of the difference.
double reference_gelu_derivative(double x) {
  constexpr double kStep = 1e-5;
  return (reference_gelu(x + kStep) - reference_gelu(x - kStep)) / (2.0 * kStep);
}

TEST(Gelu, ForwardAgreesWithTheTanhForm) {
  const RandomMatrix x(37, 513, 1, 2.0, 3);
  RandomMatrix y(37, 513, 2, 2.0, 1);
  gelu_forward(x.view(), y.view());
  for (dim_t i = 0; i < 37; ++i) {
    for (dim_t j = 0; j < 513; ++j) {
      const double v = x.view()(i, j);
      // 1 + tanh(u) of the reference cancels for negative x: 2^-53 absolute, times x.
      ASSERT_NEAR(y.view()(i, j), reference_gelu(v),
                  relative_error(v) * std::abs(reference_gelu(v)) + DBL_EPSILON * std::abs(v))
          << "x=" << v;
    }
  }
  EXPECT_TRUE(y.margin_untouched());
}

TEST(Gelu, BackwardIsTheDerivativeTimesTheGradient) {
  const RandomMatrix x(23, 257, 1, 2.0, 3);
  const RandomMatrix dy(23, 257, 2, 1.0, 2);
  RandomMatrix dx(23, 257, 2, 1.0, 2);  // starts as dy and is worked on in place
  gelu_backward(dx.view(), x.view(), dx.view());
  for (dim_t i = 0; i < 23; ++i) {
    for (dim_t j = 0; j < 257; ++j) {
      const double v = x.view()(i, j);
      const double dy_ij = dy.view()(i, j);
      // The two terms s and x s (1 - s) 2u' have moduli below 1 and 1.2; the central difference is
      // good to 1e-9.
      const double allowed = std::abs(dy_ij) * (2.2 * relative_error(v) + 1e-9);
      ASSERT_NEAR(dx.view()(i, j), dy_ij * reference_gelu_derivative(v), allowed) << "x=" << v;
    }
  }
  EXPECT_TRUE(dx.margin_untouched());
}

TEST(Gelu, SaturatesWithoutOverflow) {
  const std::vector<float> x = {-1e4F, -100.0F, -12.0F, 0.0F, 12.0F, 100.0F, 1e4F};
  const std::vector<float> ones(7, 1.0F);
  std::vector<float> y(7);
  std::vector<float> dx(7);
  gelu_forward(ConstMatrixF(x.data(), 1, 7), MatrixF(y.data(), 1, 7));
  gelu_backward(ConstMatrixF(ones.data(), 1, 7), ConstMatrixF(x.data(), 1, 7),
                MatrixF(dx.data(), 1, 7));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(y[i], 0.0F, 1e-30F);
    EXPECT_NEAR(dx[i], 0.0F, 1e-25F);
  }
  EXPECT_EQ(y[3], 0.0F);
  EXPECT_EQ(dx[3], 0.5F);
  for (std::size_t i = 4; i < 7; ++i) {
    EXPECT_EQ(y[i], x[i]);
    EXPECT_EQ(dx[i], 1.0F);
  }
}

TEST(Gelu, NanStaysNan) {
  std::vector<float> x(9, std::numeric_limits<float>::quiet_NaN());
  gelu_forward(ConstMatrixF(x.data(), 1, 9), MatrixF(x.data(), 1, 9));
  for (const float v : x) EXPECT_TRUE(std::isnan(v));
}

}  // namespace
}  // namespace dsf
