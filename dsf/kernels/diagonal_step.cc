#include "dsf/kernels/diagonal_step.h"

namespace dsf {

void add_diagonal_product(std::span<const float> a, ConstMatrixF g, MatrixF g_previous) {
  const float* __restrict factor = a.data();
  for (dim_t i = 0; i < g.rows; ++i) {
    const float* __restrict from = g.row(i);
    float* __restrict to = g_previous.row(i);
    for (dim_t j = 0; j < g.cols; ++j) to[j] += factor[j] * from[j];
  }
}

void add_joined_paths(std::span<const float> a, ConstMatrixF g, ConstMatrixF diagonal,
                      MatrixF g_previous) {
  const float* __restrict factor = a.data();
  for (dim_t i = 0; i < g.rows; ++i) {
    const float* __restrict total = g.row(i);
    const float* __restrict part = diagonal.row(i);
    float* __restrict to = g_previous.row(i);
    for (dim_t j = 0; j < g.cols; ++j) to[j] = to[j] + part[j] + factor[j] * (total[j] - part[j]);
  }
}

void add_signed_diagonal_product(float sign, std::span<const float> u, ConstMatrixF d,
                                 MatrixF g_previous) {
  const float* __restrict factor = u.data();
  for (dim_t i = 0; i < d.rows; ++i) {
    const float* __restrict from = d.row(i);
    float* __restrict to = g_previous.row(i);
    for (dim_t j = 0; j < d.cols; ++j) to[j] += sign * factor[j] * from[j];
  }
}

}  // namespace dsf
