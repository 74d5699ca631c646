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

void join_paths(std::span<const float> a, ConstMatrixF g, ConstMatrixF e, MatrixF own) {
  const float* __restrict factor = a.data();
  for (dim_t i = 0; i < g.rows; ++i) {
    const float* __restrict total = g.row(i);
    const float* __restrict error = e.row(i);
    float* __restrict to = own.row(i);
    for (dim_t j = 0; j < g.cols; ++j) to[j] = error[j] + to[j] + factor[j] * (total[j] - to[j]);
  }
}

void add_own_products(float sign, ConstMatrixF d, const float* u, MatrixF g_previous) {
  const dim_t D = g_previous.cols;
  for (dim_t i = 0; i < d.rows; ++i) {
    float* __restrict to = g_previous.row(i);
    for (dim_t k = 0; k < d.cols; k += D) {
      const float* __restrict from = d.row(i) + k;
      const float* __restrict factor = u + k;
      for (dim_t j = 0; j < D; ++j) to[j] += sign * factor[j] * from[j];
    }
  }
}

}  // namespace dsf
