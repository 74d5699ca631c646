#include "dsf/kernels/low_rank.h"

#include <array>
#include <cmath>

#include "dsf/base/rng.h"

namespace dsf {
namespace {

// Sums of a dot product that are independent of each other, so that they fit vector registers.
constexpr dim_t kLanes = 16;

float dot(const float* x, const float* y, dim_t n) {
  std::array<float, kLanes> sums = {};
  const dim_t whole = n - n % kLanes;
  for (dim_t i = 0; i < whole; i += kLanes) {
    for (dim_t lane = 0; lane < kLanes; ++lane) {
      sums[static_cast<std::size_t>(lane)] += x[i + lane] * y[i + lane];
    }
  }
  float sum = 0.0F;
  for (const float part : sums) sum += part;
  for (dim_t i = whole; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

void make_rows_orthonormal(MatrixF rows) {
  constexpr float kLeast = 1e-10F;  // of a row's squared norm: what is left is rounding
  for (dim_t j = 0; j < rows.rows; ++j) {
    float* row = rows.row(j);
    const float before = dot(row, row, rows.cols);
    for (dim_t k = 0; k < j; ++k) {
      const float* other = rows.row(k);
      const float along = dot(row, other, rows.cols);
      for (dim_t i = 0; i < rows.cols; ++i) row[i] -= along * other[i];
    }
    const float left = dot(row, row, rows.cols);
    const float scale = left > kLeast * before ? 1.0F / std::sqrt(left) : 0.0F;
    for (dim_t i = 0; i < rows.cols; ++i) row[i] *= scale;
  }
}

void LowRankFactors::draw_probe(dim_t rank, dim_t columns) {
  if (probe_.rows() == rank && probe_.cols() == columns) return;
  const MatrixF probe = probe_.reshape(rank, columns);
  Rng rng(0, "low rank factors");
  for (dim_t i = 0; i < rank; ++i) {
    for (dim_t j = 0; j < columns; ++j) probe(i, j) = static_cast<float>(rng.normal());
  }
}

void LowRankFactors::fit(ConstMatrixF a, dim_t rank, Precision precision) {
  draw_probe(rank, a.cols);
  const MatrixF left = left_.reshape(a.rows, rank);
  const MatrixF right = right_.reshape(rank, a.cols);
  const OperandView whole = whole_operand_(a, precision);
  gemm(Op::none, whole, Op::transpose, thin_operand_(probe_, precision), Into::overwrite, left);
  gemm(Op::transpose, thin_operand_(left, precision), Op::none, whole, Into::overwrite, right);
  make_rows_orthonormal(right);
  gemm(Op::none, whole, Op::transpose, thin_operand_(right, precision), Into::overwrite, left);
}

}  // namespace dsf
