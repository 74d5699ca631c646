#include "dsf/kernels/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>

#include "dsf/kernels/orthonormal.h"
#include "tests/reference/grid_products.h"
#include "tests/reference/low_rank.h"

namespace dsf {
namespace {

using reference::Grid;

// A random [n, r] times a random [r, m], and noise.
Grid<float> near_rank(dim_t n, dim_t m, dim_t rank, double noise) {
  Rng rng(3);
  const Grid<double> left = reference::random_grid(n, rank, 1.0, rng);
  const Grid<double> right = reference::random_grid(m, rank, 1.0, rng);
  const Grid<double> exact = reference::apply_map(right, left);
  Grid<double> a = reference::random_grid(n, m, noise, rng);
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += exact.values[i];
  return Grid<float>(a);
}

double product_at(const LowRankFactors& factors, dim_t i, dim_t j) {
  double sum = 0.0;
  for (dim_t k = 0; k < factors.right().rows; ++k) {
    sum += static_cast<double>(factors.left()(i, k)) * static_cast<double>(factors.right()(k, j));
  }
  return sum;
}

// ||A - P Q|| / ||A||, of squares.
double lost(const Grid<float>& a, const LowRankFactors& factors) {
  double difference = 0.0;
  double all = 0.0;
  for (dim_t i = 0; i < a.rows; ++i) {
    for (dim_t j = 0; j < a.cols; ++j) {
      difference += std::pow(static_cast<double>(a(i, j)) - product_at(factors, i, j), 2);
      all += std::pow(static_cast<double>(a(i, j)), 2);
    }
  }
  return difference / all;
}

TEST(LowRankFactors, FindAMatrixOfThatRankAgain) {
  Grid<float> a = near_rank(60, 40, 5, 0.0);
  LowRankFactors factors;
  factors.fit(a.view(), 5, Precision::f32);
  EXPECT_LT(lost(a, factors), 1e-10);
  factors.fit(a.view(), 9, Precision::f32);  // more than it has
  EXPECT_LT(lost(a, factors), 1e-10);
  factors.fit(a.view(), 5, Precision::bf16);
  EXPECT_LT(lost(a, factors), 1e-4);
}

TEST(LowRankFactors, LoseLittleMoreThanTheNoise) {
  Grid<float> a = near_rank(60, 40, 5, 0.1);
  LowRankFactors factors;
  factors.fit(a.view(), 4, Precision::f32);
  EXPECT_GT(lost(a, factors), 0.02);  // the fifth direction
  factors.fit(a.view(), 5, Precision::f32);
  EXPECT_LT(lost(a, factors), 0.01);
}

TEST(LowRankFactors, EqualTheSlowReference) {
  Grid<float> a = near_rank(33, 21, 21, 0.0);
  const Grid<double> expected = reference::low_rank(Grid<double>(a), 7);
  LowRankFactors factors;
  factors.fit(a.view(), 7, Precision::f32);
  for (dim_t i = 0; i < a.rows; ++i) {
    for (dim_t j = 0; j < a.cols; ++j) {
      EXPECT_NEAR(product_at(factors, i, j), expected(i, j), 1e-3);
    }
  }
}

TEST(LowRankFactors, OfZeroAreZero) {
  Grid<float> a(12, 8);
  LowRankFactors factors;
  factors.fit(a.view(), 3, Precision::f32);
  for (dim_t i = 0; i < 12; ++i) {
    for (dim_t j = 0; j < 8; ++j) EXPECT_EQ(product_at(factors, i, j), 0.0);
  }
}

TEST(OrthonormalRows, AreOrthonormalAndSpanWhatWasGiven) {
  constexpr dim_t kRows = 70;
  constexpr dim_t kCols = 101;
  Rng rng(5);
  const Grid<float> given(reference::random_grid(kRows, kCols, 1.0, rng));
  Grid<float> rows = given;
  make_rows_orthonormal(rows.view());
  const auto dot = [](const Grid<float>& a, dim_t i, const Grid<float>& b, dim_t k) {
    double sum = 0.0;
    for (dim_t j = 0; j < kCols; ++j) {
      sum += static_cast<double>(a(i, j)) * static_cast<double>(b(k, j));
    }
    return sum;
  };
  for (dim_t i = 0; i < kRows; ++i) {
    for (dim_t k = 0; k <= i; ++k) {
      EXPECT_NEAR(dot(rows, i, rows, k), i == k ? 1.0 : 0.0, 1e-5) << i << ", " << k;
    }
    // The part of a given row along the new ones has all of its length.
    double along = 0.0;
    for (dim_t k = 0; k < kRows; ++k) along += std::pow(dot(given, i, rows, k), 2);
    EXPECT_NEAR(along, dot(given, i, given, i), 1e-4 * along) << i;
  }
}

}  // namespace
}  // namespace dsf
