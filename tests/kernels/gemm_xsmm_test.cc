// What gemm_test.cc does not reach through gemm and PackedWeights.

#include "dsf/kernels/gemm_xsmm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dsf/kernels/xsmm_kernels.h"
#include "tests/support/random_matrix.h"

namespace dsf::xsmm {
namespace {

using testing::RandomMatrix;

// The largest distance of two matrices, and of the larger one from zero.
struct Distance {
  double most = 0.0;
  double scale = 0.0;
};

Distance distance(ConstMatrixF x, ConstMatrixF y) {
  Distance d;
  for (dim_t i = 0; i < x.rows; ++i) {
    for (dim_t j = 0; j < x.cols; ++j) {
      d.most = std::max(d.most, std::abs(static_cast<double>(x(i, j)) - y(i, j)));
      d.scale = std::max(d.scale, static_cast<double>(std::abs(x(i, j))));
    }
  }
  return d;
}

// If libxsmm has no kernel for a shape, the same panel gives the same product. Two orders of summing
// k products differ by at most 2 (k + 1) eps sum |a b|, and sum |a b| is about k for normal numbers.
TEST(XsmmPanels, GiveTheSameProductWithoutAKernel) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    if (!available(precision)) continue;
    for (const Into into : {Into::overwrite, Into::accumulate}) {
      constexpr dim_t kRows = 9;
      constexpr dim_t kDepth = 70;
      constexpr dim_t kCols = 50;  // one panel, not filled
      const RandomMatrix a(kRows, kDepth, 1);
      const RandomMatrix b(kDepth, kCols, 2);
      OperandScratch scratch_a;
      OperandScratch scratch_b;
      const OperandView left = scratch_a(a.view(), precision);
      PackedRight packed;
      packed.reshape(precision, kDepth, kCols);
      packed.pack(Op::none, scratch_b(b.view(), precision), 0);
      RandomMatrix with(kRows, kCols, 3, 1.0, 2);
      RandomMatrix without(kRows, kCols, 3, 1.0, 2);
      packed.multiply(left, 0, into, with.view());
      multiply_without_kernel(left, packed.panels(), into, without.view());
      const Distance d = distance(with.view(), without.view());
      const double eps = std::numeric_limits<float>::epsilon();
      EXPECT_LE(d.most, 2.0 * (kDepth + 1) * eps * kDepth);
      EXPECT_GT(d.scale, 1.0);
      EXPECT_TRUE(without.margin_untouched());
    }
  }
}

// Rows an odd number apart, as a part of the columns of an odd vocabulary: pairs do not reach from row
// to row. The products are those of the same rows one after the other.
TEST(XsmmPanels, TakeRowsThatAreAnOddNumberApart) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    if (!available(precision)) continue;
    constexpr dim_t kRows = 9;
    constexpr dim_t kDepth = 70;
    constexpr dim_t kCols = 50;
    const RandomMatrix wide(kRows, kDepth + 1, 1);
    const RandomMatrix b(kDepth, kCols, 2);
    OperandScratch scratch_wide;
    OperandScratch scratch_a;
    OperandScratch scratch_b;
    PackedRight packed;
    packed.reshape(precision, kDepth, kCols);
    packed.pack(Op::none, scratch_b(b.view(), precision), 0);
    RandomMatrix apart(kRows, kCols, 3);
    RandomMatrix together(kRows, kCols, 3);
    packed.multiply(scratch_wide(wide.view(), precision).block(0, kRows, 0, kDepth), 0,
                    Into::overwrite, apart.view());
    packed.multiply(scratch_a(wide.view().middle_cols(0, kDepth), precision), 0, Into::overwrite,
                    together.view());
    const Distance d = distance(apart.view(), together.view());
    const double eps = std::numeric_limits<float>::epsilon();
    EXPECT_LE(d.most, 2.0 * (kDepth + 1) * eps * kDepth);
    EXPECT_GT(d.scale, 1.0);
  }
}

TEST(XsmmKernels, AreTheSameForTheSameShape) {
  if (!available(Precision::f32)) GTEST_SKIP() << "libxsmm has no kernels here";
  KernelShape shape{Precision::f32, Into::overwrite, 5, 64, 31, 31, 64, 64};
  const Kernel kernel = find_kernel(shape);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(find_kernel(shape), kernel);
  shape.into = Into::accumulate;
  EXPECT_NE(find_kernel(shape), kernel);
}

}  // namespace
}  // namespace dsf::xsmm
