// Products with packed panels, on every machine: gemm_test.cc reaches them only if libxsmm has no kernels.

#include "dsf/kernels/panel_gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "tests/support/random_matrix.h"

namespace dsf::panels {
namespace {

using testing::RandomMatrix;

PackedRight packed(Op op, const OperandView& b, dim_t k, dim_t n) {
  PackedRight right;
  right.reshape(k, n);
  right.pack(op, b, 0);
  return right;
}

RandomMatrix transposed(ConstMatrixF m) {
  RandomMatrix turned(m.cols, m.rows, 1);
  for (dim_t i = 0; i < m.rows; ++i) {
    for (dim_t j = 0; j < m.cols; ++j) turned.view()(j, i) = m(i, j);
  }
  return turned;
}

// Any order of summing k products in f32 errs by at most (k + 1) eps sum |a b|, to first order; the start
// value of C is one more summand.
void expect_product(ConstMatrixF a, ConstMatrixF b, ConstMatrixF start, Into into, ConstMatrixF c) {
  const double tolerance =
      static_cast<double>(a.cols + 2) * static_cast<double>(std::numeric_limits<float>::epsilon());
  for (dim_t i = 0; i < c.rows; ++i) {
    for (dim_t j = 0; j < c.cols; ++j) {
      double exact = into == Into::accumulate ? static_cast<double>(start(i, j)) : 0.0;
      double magnitude = std::abs(exact);
      for (dim_t k = 0; k < a.cols; ++k) {
        const double product = static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
        exact += product;
        magnitude += std::abs(product);
      }
      ASSERT_NEAR(c(i, j), exact, tolerance * magnitude)
          << "C(" << i << ", " << j << ") of " << c.rows << " x " << c.cols << " x " << a.cols;
    }
  }
}

// Every height of a block of rows, every number of panels that a block of few rows takes, a last panel
// that is not filled, and a depth in more than one piece.
TEST(PanelGemm, EqualsTheExactProductForEveryBlock) {
  for (const dim_t k : {1, 37, 2100}) {
    for (const dim_t n : {1, 16, 31, 48, 64, 100}) {
      const RandomMatrix b(k, n, 2);
      const PackedRight right = packed(Op::none, b.view(), k, n);
      for (const dim_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 66}) {
        for (const Into into : {Into::overwrite, Into::accumulate}) {
          const RandomMatrix a(m, k, 1, 1.0, 3);
          const RandomMatrix start(m, n, 3, 1.0, 2);
          RandomMatrix c(m, n, 3, 1.0, 2);
          right.multiply(a.view(), 0, into, c.view());
          expect_product(a.view(), b.view(), start.view(), into, c.view());
          EXPECT_TRUE(c.margin_untouched());
        }
      }
    }
  }
}

using Multiply = void (*)(Op, const OperandView&, Op, const OperandView&, Into, MatrixF);

// Both operands as they are, either way round.
void expect_products(Multiply multiply, dim_t m, dim_t n, dim_t k) {
  const RandomMatrix a(m, k, 1);
  const RandomMatrix b(k, n, 2);
  const RandomMatrix turned_a = transposed(a.view());
  const RandomMatrix turned_b = transposed(b.view());
  const RandomMatrix start(m, n, 3, 1.0, 2);
  for (const Op op_a : {Op::none, Op::transpose}) {
    for (const Op op_b : {Op::none, Op::transpose}) {
      for (const Into into : {Into::overwrite, Into::accumulate}) {
        RandomMatrix c(m, n, 3, 1.0, 2);
        multiply(op_a, op_a == Op::none ? a.view() : turned_a.view(), op_b,
                 op_b == Op::none ? b.view() : turned_b.view(), into, c.view());
        expect_product(a.view(), b.view(), start.view(), into, c.view());
        EXPECT_TRUE(c.margin_untouched());
      }
    }
  }
}

// Blocks of all heights, columns and depths in more than one piece.
TEST(PanelGemm, MultipliesOperandsThatAreNotPacked) {
  for (dim_t m = 1; m <= 13; ++m) expect_products(multiply, m, 37, 20);
  for (const auto& [m, n, k] : {std::array<dim_t, 3>{1, 3, 2}, {70, 300, 520}, {205, 40, 257}}) {
    expect_products(multiply, m, n, k);
  }
}

TEST(PanelGemm, MultipliesFewRowsByAMatrixWhereItLies) {
  for (dim_t m = 1; m <= 31; m += m < 14 ? 1 : 8) {
    for (const auto& [n, k] : {std::array<dim_t, 2>{1, 1}, {3, 5}, {16, 40}, {66, 17}, {130, 64}}) {
      expect_products(multiply_few_rows, m, n, k);
    }
  }
}

TEST(PanelGemm, BitsOfPlainOperandsDoNotDependOnTheCut) {
  constexpr dim_t kRows = 250;
  constexpr dim_t kDepth = 300;
  constexpr dim_t kCols = 90;
  const RandomMatrix a(kDepth, kRows, 1);
  const RandomMatrix b(kDepth, kCols, 2);
  RandomMatrix whole(kRows, kCols, 3);
  multiply(Op::transpose, a.view(), Op::none, b.view(), Into::overwrite, whole.view());
  for (const dim_t row : {1, 96, 249}) {
    for (const dim_t col : {0, 16, 77}) {
      RandomMatrix part(kRows - row, kCols - col, 4);
      multiply(Op::transpose, OperandView(a.view()).block(0, kDepth, row, kRows - row), Op::none,
               OperandView(b.view()).block(0, kDepth, col, kCols - col), Into::overwrite,
               part.view());
      for (dim_t i = 0; i < kRows - row; ++i) {
        for (dim_t j = 0; j < kCols - col; ++j) {
          ASSERT_EQ(part.view()(i, j), whole.view()(row + i, col + j)) << i << ", " << j;
        }
      }
    }
  }
}

// A tile of C has the bits that it has in the whole product: cuts may follow anything.
TEST(PanelGemm, BitsDoNotDependOnTheCut) {
  constexpr dim_t kRows = 70;  // many; the parts below are few and many
  constexpr dim_t kDepth = 1030;
  constexpr dim_t kCols = 180;
  const RandomMatrix a(kRows, kDepth, 1);
  const RandomMatrix b(kDepth, kCols, 2);
  const PackedRight right = packed(Op::none, b.view(), kDepth, kCols);
  RandomMatrix whole(kRows, kCols, 3);
  right.multiply(a.view(), 0, Into::overwrite, whole.view());
  for (const dim_t row : {dim_t{0}, dim_t{1}, dim_t{59}}) {
    for (const dim_t col : {dim_t{0}, dim_t{16}, dim_t{64}}) {
      RandomMatrix part(kRows - row, kCols - col, 4);
      right.multiply(OperandView(a.view()).block(row, kRows - row, 0, kDepth), col, Into::overwrite,
                     part.view());
      for (dim_t i = 0; i < kRows - row; ++i) {
        for (dim_t j = 0; j < kCols - col; ++j) {
          ASSERT_EQ(part.view()(i, j), whole.view()(row + i, col + j)) << i << ", " << j;
        }
      }
    }
  }
}

TEST(PanelGemm, WidensBf16) {
  constexpr dim_t kRows = 5;
  constexpr dim_t kDepth = 33;
  constexpr dim_t kCols = 20;
  const RandomMatrix a(kRows, kDepth, 1);
  const RandomMatrix b(kCols, kDepth, 2);  // transposed
  OperandScratch scratch_a;
  OperandScratch scratch_b;
  const PackedRight right =
      packed(Op::transpose, scratch_b(b.view(), Precision::bf16), kDepth, kCols);
  RandomMatrix c(kRows, kCols, 3);
  right.multiply(scratch_a(a.view(), Precision::bf16), 0, Into::overwrite, c.view());
  Matrix rounded_a(kRows, kDepth);
  Matrix rounded_b(kDepth, kCols);
  for (dim_t k = 0; k < kDepth; ++k) {
    for (dim_t i = 0; i < kRows; ++i) rounded_a.view()(i, k) = to_float(to_bf16(a.view()(i, k)));
    for (dim_t j = 0; j < kCols; ++j) rounded_b.view()(k, j) = to_float(to_bf16(b.view()(j, k)));
  }
  expect_product(rounded_a.view(), rounded_b.view(), c.view(), Into::overwrite, c.view());
}

}  // namespace
}  // namespace dsf::panels
