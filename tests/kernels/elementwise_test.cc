#include "dsf/kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using testing::normal_vector;
using testing::RandomMatrix;

// One element, odd shapes, several tiles of rows, one row of several tiles.
const std::vector<std::pair<dim_t, dim_t>> kShapes = {{1, 1}, {7, 3}, {300, 257}, {2, 40000}};

template <typename Check>
void for_all(ConstMatrixF m, Check check) {
  for (dim_t i = 0; i < m.rows; ++i) {
    for (dim_t j = 0; j < m.cols; ++j) check(i, j);
  }
}

TEST(Elementwise, AddAddsEveryElementOnce) {
  for (const auto& [rows, cols] : kShapes) {
    const RandomMatrix x(rows, cols, 1, 1.0, 3);
    const RandomMatrix before(rows, cols, 2, 1.0, 5);
    RandomMatrix y(rows, cols, 2, 1.0, 5);
    add(x.view(), y.view());
    for_all(x.view(), [&](dim_t i, dim_t j) {
      ASSERT_EQ(y.view()(i, j), before.view()(i, j) + x.view()(i, j));
    });
    EXPECT_TRUE(y.margin_untouched());
  }
}

TEST(Elementwise, AddBiasAddsTheBiasToEveryRow) {
  for (const auto& [rows, cols] : kShapes) {
    const std::vector<float> bias = normal_vector(cols, 1);
    const RandomMatrix before(rows, cols, 2, 1.0, 5);
    RandomMatrix y(rows, cols, 2, 1.0, 5);
    add_bias(bias.data(), y.view());
    for_all(before.view(), [&](dim_t i, dim_t j) {
      ASSERT_EQ(y.view()(i, j), before.view()(i, j) + bias[static_cast<std::size_t>(j)]);
    });
    EXPECT_TRUE(y.margin_untouched());
  }
}

TEST(Elementwise, CopyAndFillReachEveryElementAndNoOther) {
  for (const auto& [rows, cols] : kShapes) {
    const RandomMatrix x(rows, cols, 1, 1.0, 3);
    RandomMatrix y(rows, cols, 2, 1.0, 5);
    copy(x.view(), y.view());
    for_all(x.view(), [&](dim_t i, dim_t j) { ASSERT_EQ(y.view()(i, j), x.view()(i, j)); });
    fill(2.5F, y.view());
    for_all(x.view(), [&](dim_t i, dim_t j) { ASSERT_EQ(y.view()(i, j), 2.5F); });
    EXPECT_TRUE(y.margin_untouched());
  }
}

TEST(Elementwise, ColumnSumsAccumulate) {
  Buffer<float> work;
  for (const auto& [rows, cols] :
       std::vector<std::pair<dim_t, dim_t>>{{1, 1}, {255, 3}, {256, 17}, {257, 1030}, {2000, 64}}) {
    const RandomMatrix x(rows, cols, 1, 1.0, 3);
    const std::vector<float> before = normal_vector(cols, 2);
    std::vector<float> sums = before;
    column_sums(x.view(), work, sums.data());
    for (dim_t j = 0; j < cols; ++j) {
      double expected = before[static_cast<std::size_t>(j)];
      double moduli = std::abs(expected);
      for (dim_t i = 0; i < rows; ++i) {
        expected += static_cast<double>(x.view()(i, j));
        moduli += std::abs(static_cast<double>(x.view()(i, j)));
      }
      // An element passes through at most 256 additions of its chunk and one a chunk.
      const double additions = 256.0 + static_cast<double>(rows) / 256.0 + 1.0;
      EXPECT_NEAR(sums[static_cast<std::size_t>(j)], expected,
                  additions * 0.5 * FLT_EPSILON * moduli);
    }
  }
}

TEST(Elementwise, ColumnSumsOfRoundedRowsAreThoseOfTheirValues) {
  RandomMatrix x(600, 1030, 1, 1.0, 3);
  for_all(x.view(), [&](dim_t i, dim_t j) { x.view()(i, j) = to_float(to_bf16(x.view()(i, j))); });
  Buffer<float> work;
  std::vector<float> wide = normal_vector(1030, 2);
  std::vector<float> narrow = wide;
  column_sums(x.view(), work, wide.data());
  OperandScratch scratch;
  column_sums(scratch(x.view(), Precision::bf16), work, narrow.data());
  EXPECT_EQ(wide, narrow);
}

TEST(Elementwise, ColumnSumsDoNotDependOnTheNumberOfThreads) {
  const RandomMatrix x(3000, 1500, 1);
  EXPECT_TRUE(testing::same_with_any_thread_count([&] {
    Buffer<float> work;
    std::vector<float> sums(1500, 0.0F);
    column_sums(x.view(), work, sums.data());
    return sums;
  }));
}

TEST(Elementwise, EmptyMatricesAreLeftAlone) {
  Buffer<float> work;
  float sum = 3.0F;
  column_sums(ConstMatrixF(nullptr, 0, 1), work, &sum);
  EXPECT_EQ(sum, 3.0F);
  add(ConstMatrixF(nullptr, 0, 5), MatrixF(nullptr, 0, 5));
  fill(1.0F, MatrixF(nullptr, 5, 0));
}

}  // namespace
}  // namespace dsf
