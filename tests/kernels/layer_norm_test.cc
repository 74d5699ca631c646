#include "dsf/kernels/layer_norm.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <vector>

#include "tests/reference/reference_norms.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using testing::normal_vector;
using testing::RandomMatrix;
using testing::ReferenceLayerNorm;
using testing::Row;

constexpr double kUnit = 0.5 * FLT_EPSILON;
constexpr double kEpsilon = kLayerNormEpsilon;

Row row_of(ConstMatrixF m, dim_t i) { return {m.row(i), m.row(i) + m.cols}; }
Row row_of(const std::vector<float>& v) { return {v.begin(), v.end()}; }

// Roundings an element of a row of n passes through in a sum: four vectors of at least 4 lanes,
// then the lanes and what is left over.
double additions(dim_t n) { return static_cast<double>(n) / 16.0 + 40.0; }

struct Case {
  Case(dim_t rows, dim_t cols)
      : x(rows, cols, 1, 2.0, 3),
        dy(rows, cols, 2, 1.0, 1),
        gamma(normal_vector(cols, 3)),
        beta(normal_vector(cols, 4)),
        mean(static_cast<std::size_t>(rows)),
        rstd(static_cast<std::size_t>(rows)) {}

  LayerNormStatistics statistics() { return {mean.data(), rstd.data()}; }
  void forward(MatrixF y) {
    layer_norm_forward(x.view(), {gamma.data(), beta.data()}, statistics(), y);
  }

  RandomMatrix x;
  RandomMatrix dy;
  std::vector<float> gamma;
  std::vector<float> beta;
  std::vector<float> mean;
  std::vector<float> rstd;
};

TEST(LayerNorm, ForwardAgreesWithTheReference) {
  for (const dim_t n : {1, 3, 17, 256, 1000}) {
    Case c(70, n);
    RandomMatrix y(70, n, 5, 1.0, 2);
    c.forward(y.view());
    EXPECT_TRUE(y.margin_untouched());
    for (dim_t i = 0; i < 70; ++i) {
      const Row x = row_of(c.x.view(), i);
      const ReferenceLayerNorm expected = testing::reference_normalise(x, kEpsilon);
      double largest = 0.0;
      for (const double v : x) largest = std::max(largest, std::abs(v));
      // The sum of x is off by u a term and addition; so is that of the squares, relatively, and
      // rstd takes half of it; the shifted mean moves every centred value.
      const double mean_error = kUnit * additions(n) * largest;
      const double rstd_error = kUnit * (additions(n) + 4.0) + mean_error * expected.rstd;
      EXPECT_NEAR(c.mean[static_cast<std::size_t>(i)], expected.mean, mean_error);
      EXPECT_NEAR(c.rstd[static_cast<std::size_t>(i)], expected.rstd, expected.rstd * rstd_error);
      for (dim_t j = 0; j < n; ++j) {
        const auto k = static_cast<std::size_t>(j);
        const double scaled = static_cast<double>(c.gamma[k]) * expected.x_hat[k];
        const double allowed =
            std::abs(scaled) * (rstd_error + 4.0 * kUnit) +
            std::abs(static_cast<double>(c.gamma[k])) * expected.rstd * mean_error +
            kUnit * (std::abs(static_cast<double>(c.beta[k])) + std::abs(scaled));
        ASSERT_NEAR(y.view()(i, j), scaled + static_cast<double>(c.beta[k]), allowed)
            << "n=" << n << " i=" << i << " j=" << j;
      }
    }
  }
}

TEST(LayerNorm, LargeOffsetsDoNotSpoilTheVariance) {
  // E[x^2] - E[x]^2 in float would be all rounding error here.
  std::vector<float> x = {4096.0F, 4097.0F, 4098.0F, 4099.0F};
  const std::vector<float> gamma(4, 1.0F);
  const std::vector<float> beta(4, 0.0F);
  float mean = 0.0F;
  float rstd = 0.0F;
  std::vector<float> y(4);
  layer_norm_forward(ConstMatrixF(x.data(), 1, 4), {gamma.data(), beta.data()}, {&mean, &rstd},
                     MatrixF(y.data(), 1, 4));
  EXPECT_EQ(mean, 4097.5F);
  EXPECT_FLOAT_EQ(rstd, 1.0F / std::sqrt(1.25F + kLayerNormEpsilon));
}

TEST(LayerNorm, BackwardIsTheDerivativeOfForward) {
  for (const dim_t n : {1, 3, 17, 64}) {
    const dim_t rows = 40;  // more than one task
    Case c(rows, n);
    RandomMatrix y(rows, n, 5);
    c.forward(y.view());
    const RandomMatrix dy(rows, n, 2, 1.0, 1);
    std::vector<float> dgamma = normal_vector(n, 6);
    std::vector<float> dbeta = normal_vector(n, 7);
    Row expected_dgamma = row_of(dgamma);
    Row expected_dbeta = row_of(dbeta);
    Buffer<float> work;
    layer_norm_backward(c.dy.view(), c.x.view(), c.gamma.data(), c.statistics(), work, c.dy.view(),
                        {dgamma.data(), dbeta.data()});  // dx in the place of dy
    EXPECT_TRUE(c.dy.margin_untouched());

    for (dim_t i = 0; i < rows; ++i) {
      Row x = row_of(c.x.view(), i);
      const Row dy_row = row_of(dy.view(), i);
      const Row gamma = row_of(c.gamma);
      const ReferenceLayerNorm norm = testing::reference_normalise(x, kEpsilon);
      double size = 0.0;
      for (std::size_t j = 0; j < x.size(); ++j) {
        expected_dgamma[j] += dy_row[j] * norm.x_hat[j];
        expected_dbeta[j] += dy_row[j];
        size += dy_row[j] * dy_row[j] * gamma[j] * gamma[j];
      }
      // Central differences in double: h^2 of the third derivative, rstd^3 times the size of d, and
      // the rounding of the difference. Then float: |dx| <= 3 rstd |d|, through two sums.
      const double h = 1e-4 / norm.rstd;
      const double scale = norm.rstd * std::sqrt(size);
      const double allowed = scale * (1e-6 + 3.0 * kUnit * (additions(n) + 10.0));
      for (std::size_t j = 0; j < x.size(); ++j) {
        const double centre = x[j];
        x[j] = centre + h;
        const double above = testing::reference_layer_norm_dot(x, gamma, dy_row, kEpsilon);
        x[j] = centre - h;
        const double below = testing::reference_layer_norm_dot(x, gamma, dy_row, kEpsilon);
        x[j] = centre;
        ASSERT_NEAR(c.dy.view()(i, static_cast<dim_t>(j)), (above - below) / (2.0 * h), allowed)
            << "n=" << n << " i=" << i << " j=" << j;
      }
    }
    // A sum of 40 products below about 4 x 4, a few roundings each.
    const double allowed = kUnit * (static_cast<double>(rows) + 8.0) * 16.0;
    for (std::size_t j = 0; j < dgamma.size(); ++j) {
      EXPECT_NEAR(dgamma[j], expected_dgamma[j], allowed * static_cast<double>(rows));
      EXPECT_NEAR(dbeta[j], expected_dbeta[j], allowed);
    }
  }
}

TEST(LayerNorm, GradientsDoNotDependOnTheNumberOfThreads) {
  Case c(500, 300);
  RandomMatrix y(500, 300, 5);
  c.forward(y.view());
  EXPECT_TRUE(testing::same_with_any_thread_count([&] {
    std::vector<float> gradients(600, 0.0F);
    RandomMatrix dx(500, 300, 6);
    Buffer<float> work;
    layer_norm_backward(c.dy.view(), c.x.view(), c.gamma.data(), c.statistics(), work, dx.view(),
                        {gradients.data(), gradients.data() + 300});
    gradients.insert(gradients.end(), dx.view().data, dx.view().data + 500 * 300);
    return gradients;
  }));
}

}  // namespace
}  // namespace dsf
