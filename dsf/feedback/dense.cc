#include "dsf/feedback/dense.h"

#include <cmath>

#include "dsf/feedback/stationary.h"
#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

// g_t += product_{t+h} for every step that has one; `product` begins with the rows of step h.
void add_shifted(const PackedLayout& layout, dim_t h, ConstMatrixF product, MatrixF g) {
  parallel_for(layout.steps() - h, [&](dim_t t) {
    const dim_t rows = layout.rows_at(t + h);
    for (dim_t b = 0; b < rows; ++b) {
      const float* __restrict from = product.row(layout.offset(t + h) - layout.offset(h) + b);
      float* __restrict to = g.row(layout.offset(t) + b);
      for (dim_t j = 0; j < g.cols; ++j) to[j] += from[j];
    }
  });
}

// y = x A, or x A^T.
std::vector<double> times(const std::vector<double>& x, ConstMatrixF a, Op op) {
  std::vector<double> y(x.size());
  for (dim_t i = 0; i < a.rows; ++i) {
    for (dim_t j = 0; j < a.cols; ++j) {
      const auto from = static_cast<std::size_t>(op == Op::none ? i : j);
      const auto to = static_cast<std::size_t>(op == Op::none ? j : i);
      y[to] += x[from] * static_cast<double>(a(i, j));
    }
  }
  return y;
}

// The norm of A, by power iteration on A A^T: a little too small.
double norm_of(ConstMatrixF a) {
  constexpr int kRounds = 100;
  std::vector<double> x(static_cast<std::size_t>(a.rows), 1.0);
  double norm = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    x = times(times(x, a, Op::none), a, Op::transpose);
    double squares = 0.0;
    for (const double value : x) squares += value * value;
    norm = std::sqrt(squares);
    for (double& value : x) value /= norm;
  }
  return std::sqrt(norm);
}

}  // namespace

std::vector<FeedbackBuffer> DenseFeedback::buffers() { return {{"matrix", a_.span()}}; }

void DenseFeedback::run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
                        MatrixF g) {
  Matrix power(g.cols, g.cols);
  Matrix square(g.cols, g.cols);
  copy(a_, power);
  for (dim_t h = 1; h < layout.steps(); h *= 2) {
    const dim_t rows = g.rows - layout.offset(h);
    const MatrixF product = work.rest.reshape(rows, g.cols);
    gemm(Op::none, g.middle_rows(layout.offset(h), rows), Op::none, power.view(), Into::overwrite,
         product);
    add_shifted(layout, h, product, g);
    gemm(Op::none, power.view(), Op::none, power.view(), Into::overwrite, square.view());
    std::swap(power, square);
  }
  cell.local_backward_all(g);
}

Matrix draw_gaussian_matrix(dim_t size, Rng rng) {
  Matrix a(size, size);
  for (dim_t i = 0; i < size; ++i) {
    for (dim_t j = 0; j < size; ++j) a.view()(i, j) = static_cast<float>(rng.normal());
  }
  constexpr double kRoom = 1.01;  // for what power iteration has not found
  const auto scale = static_cast<float>(1.0 / (kRoom * norm_of(a)));
  for (dim_t i = 0; i < size; ++i) {
    for (dim_t j = 0; j < size; ++j) a.view()(i, j) *= scale;
  }
  return a;
}

Matrix draw_orthogonal_matrix(dim_t size, double low, double high, Rng rng) {
  Matrix a(size, size);
  draw_orthonormal(rng, a);
  for (dim_t i = 0; i < size; ++i) {
    const auto scale = static_cast<float>(rng.uniform(low, high));
    for (dim_t j = 0; j < size; ++j) a.view()(i, j) *= scale;
  }
  return a;
}

}  // namespace dsf
