#include "dsf/kernels/low_rank.h"

#include <algorithm>
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

// Rows that are made orthonormal among themselves at a time.
constexpr dim_t kPanelRows = 32;

using SquaredNorms = std::array<float, kPanelRows>;

SquaredNorms squared_norms(ConstMatrixF rows) {
  SquaredNorms norms = {};
  for (dim_t j = 0; j < rows.rows; ++j) {
    norms[static_cast<std::size_t>(j)] = dot(rows.row(j), rows.row(j), rows.cols);
  }
  return norms;
}

// panel -= (panel done^T) done. Twice, because the first time leaves what rounding makes of large
// parts along `done`.
void remove_parts_along(ConstMatrixF done, Matrix& along_scratch, MatrixF panel) {
  const MatrixF along = along_scratch.reshape(panel.rows, done.rows);
  for (int pass = 0; pass < 2; ++pass) {
    gemm(Op::none, panel, Op::transpose, done, Into::overwrite, along);
    for (dim_t j = 0; j < along.rows; ++j) {
      for (dim_t i = 0; i < along.cols; ++i) along(j, i) = -along(j, i);
    }
    gemm(Op::none, along, Op::none, done, Into::accumulate, panel);
  }
}

// `before`: the squared norms of the rows as they were given.
void make_panel_orthonormal(const SquaredNorms& before, MatrixF panel) {
  constexpr float kLeast = 1e-10F;  // of a row's squared norm: what is left is rounding
  for (dim_t j = 0; j < panel.rows; ++j) {
    float* row = panel.row(j);
    for (dim_t k = 0; k < j; ++k) {
      const float* other = panel.row(k);
      const float along = dot(row, other, panel.cols);
      for (dim_t i = 0; i < panel.cols; ++i) row[i] -= along * other[i];
    }
    const float left = dot(row, row, panel.cols);
    const bool remains = left > kLeast * before[static_cast<std::size_t>(j)];
    const float scale = remains ? 1.0F / std::sqrt(left) : 0.0F;
    for (dim_t i = 0; i < panel.cols; ++i) row[i] *= scale;
  }
}

}  // namespace

void make_rows_orthonormal(MatrixF rows, Matrix& scratch) {
  for (dim_t begin = 0; begin < rows.rows; begin += kPanelRows) {
    const MatrixF panel = rows.middle_rows(begin, std::min(kPanelRows, rows.rows - begin));
    const SquaredNorms before = squared_norms(panel);
    if (begin > 0) remove_parts_along(rows.middle_rows(0, begin), scratch, panel);
    make_panel_orthonormal(before, panel);
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
  make_rows_orthonormal(right, along_);
  gemm(Op::none, whole, Op::transpose, thin_operand_(right, precision), Into::overwrite, left);
}

}  // namespace dsf
