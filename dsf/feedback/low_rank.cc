#include "dsf/feedback/low_rank.h"

#include <algorithm>

#include "dsf/kernels/diagonal_step.h"
#include "dsf/kernels/orthonormal.h"

namespace dsf {
namespace {

void draw_rows(dim_t rank, dim_t width, float scale, Rng& rng, Buffer<float>& rows) {
  Matrix columns(width, rank);
  draw_orthonormal(rng, columns);
  rows.resize(rank * width);
  for (dim_t k = 0; k < rank; ++k) {
    for (dim_t j = 0; j < width; ++j) rows[k * width + j] = scale * columns.view()(j, k);
  }
}

}  // namespace

LowRankFeedback::LowRankFeedback(dim_t state_size, dim_t rank, double low, double high, Rng rng)
    : rank_(std::min(rank, state_size)), diagonal_(state_size) {
  for (dim_t j = 0; j < state_size; ++j) {
    diagonal_[j] = static_cast<float>(0.5 * rng.uniform(low, high));
  }
  draw_rows(rank_, state_size, 0.5F, rng, in_);
  draw_rows(rank_, state_size, 1.0F, rng, out_);
}

std::vector<NamedBuffer> LowRankFeedback::buffers() {
  return {{"diagonal", diagonal_.span()}, {"in", in_.span()}, {"out", out_.span()}};
}

void LowRankFeedback::add_product(ConstMatrixF g, MatrixF g_previous) const {
  add_diagonal_product(diagonal_.span(), g, g_previous);
  for (dim_t row = 0; row < g.rows; ++row) {
    const float* __restrict from = g.row(row);
    float* __restrict to = g_previous.row(row);
    for (dim_t k = 0; k < rank_; ++k) {
      const float* __restrict p = in_.data() + k * g.cols;
      const float* __restrict q = out_.data() + k * g.cols;
      float along = 0.0F;
      for (dim_t j = 0; j < g.cols; ++j) along += from[j] * p[j];
      for (dim_t j = 0; j < g.cols; ++j) to[j] += along * q[j];
    }
  }
}

}  // namespace dsf
