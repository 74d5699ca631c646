#include "dsf/kernels/diagonal_step.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/support/random_matrix.h"

namespace dsf {
namespace {

using testing::RandomMatrix;

constexpr dim_t kRows = 5;
constexpr dim_t kCols = 21;  // whole vectors and a remainder
constexpr dim_t kMargin = 3;
// One product and two sums of numbers below 4.
constexpr double kTolerance = 1e-5;

RandomMatrix random_rows(std::uint64_t seed) { return {kRows, kCols, seed, 1.0, kMargin}; }

// What is expected of element (i, j) is `sum`(i, j) on top of what was there.
template <typename Sum>
void expect_added(const RandomMatrix& before, const RandomMatrix& after, const Sum& sum) {
  EXPECT_TRUE(after.margin_untouched());
  for (dim_t i = 0; i < kRows; ++i) {
    for (dim_t j = 0; j < kCols; ++j) {
      EXPECT_NEAR(after.view()(i, j), static_cast<double>(before.view()(i, j)) + sum(i, j),
                  kTolerance)
          << i << ", " << j;
    }
  }
}

class DiagonalStep : public ::testing::Test {
 protected:
  double a(dim_t j) const { return static_cast<double>(a_[static_cast<std::size_t>(j)]); }
  double g(dim_t i, dim_t j) const { return static_cast<double>(g_.view()(i, j)); }

  const std::vector<float> a_ = testing::normal_vector(kCols, 1);
  const RandomMatrix g_ = random_rows(2);
  const RandomMatrix before_ = random_rows(3);
  RandomMatrix after_ = random_rows(3);
};

TEST_F(DiagonalStep, AddsTheProductByTheDiagonal) {
  add_diagonal_product(a_, g_.view(), after_.view());
  expect_added(before_, after_, [&](dim_t i, dim_t j) { return a(j) * g(i, j); });
}

TEST_F(DiagonalStep, JoinsTheDiagonalPartAndWhatItForgets) {
  const RandomMatrix part = random_rows(4);
  add_joined_paths(a_, g_.view(), part.view(), after_.view());
  expect_added(before_, after_, [&](dim_t i, dim_t j) {
    const auto diagonal = static_cast<double>(part.view()(i, j));
    return diagonal + a(j) * (g(i, j) - diagonal);
  });
}

TEST_F(DiagonalStep, AddsOrTakesAwayTheProductByASign) {
  for (const float sign : {1.0F, -1.0F}) {
    RandomMatrix after = random_rows(3);
    add_signed_diagonal_product(sign, a_, g_.view(), after.view());
    expect_added(before_, after,
                 [&](dim_t i, dim_t j) { return static_cast<double>(sign) * a(j) * g(i, j); });
  }
}

}  // namespace
}  // namespace dsf
