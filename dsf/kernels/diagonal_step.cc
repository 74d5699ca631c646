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

}  // namespace dsf
