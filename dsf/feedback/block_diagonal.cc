#include "dsf/feedback/block_diagonal.h"

#include <algorithm>

#include "dsf/feedback/random_matrix.h"

namespace dsf {

BlockDiagonalMatrix::BlockDiagonalMatrix(dim_t state_size, dim_t block, double low, double high,
                                         Rng rng)
    : block_(std::min(block, state_size)), values_(state_size * block_) {
  for (dim_t begin = 0; begin < state_size; begin += block_) {
    const dim_t size = std::min(block_, state_size - begin);
    const MatrixF own(values_.data() + begin * block_, size, size, block_);
    draw_orthonormal(rng, own);
    const auto scale = static_cast<float>(rng.uniform(low, high));
    for (dim_t i = 0; i < size; ++i) {
      for (dim_t j = 0; j < size; ++j) own(i, j) *= scale;
    }
  }
}

void BlockDiagonalMatrix::add_product(ConstMatrixF g, MatrixF g_previous) const {
  for (dim_t row = 0; row < g.rows; ++row) {
    for (dim_t begin = 0; begin < g.cols; begin += block_) {
      const dim_t size = std::min(block_, g.cols - begin);
      float* __restrict to = g_previous.row(row) + begin;
      for (dim_t i = 0; i < size; ++i) {
        const float from = g(row, begin + i);
        const float* __restrict a = values_.data() + (begin + i) * block_;
        for (dim_t j = 0; j < size; ++j) to[j] += from * a[j];
      }
    }
  }
}

}  // namespace dsf
