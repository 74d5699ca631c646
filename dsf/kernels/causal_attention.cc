#include "dsf/kernels/causal_attention.h"

#include <algorithm>
#include <cmath>

#include "dsf/kernels/causal_softmax.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

float score_scale(dim_t head_width) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_width)));
}

/// body(first query, queries, keys the tile sees)
template <typename Body>
void for_each_tile(dim_t steps, const Body& body) {
  for (dim_t first = 0; first < steps; first += kAttentionTile) {
    const dim_t count = std::min(kAttentionTile, steps - first);
    body(first, count, first + count);
  }
}

}  // namespace

void causal_attention_forward(ConstMatrixF q, ConstMatrixF k, ConstMatrixF v, float* scores,
                              float* lse, MatrixF o) {
  const float scale = score_scale(q.cols);
  for_each_tile(q.rows, [&](dim_t first, dim_t count, dim_t keys) {
    const MatrixF p(scores, count, keys);
    gemm(Op::none, q.middle_rows(first, count), Op::transpose, k.middle_rows(0, keys),
         Into::overwrite, p);
    causal_softmax(first, scale, p, lse + first);
    gemm(Op::none, p, Op::none, v.middle_rows(0, keys), Into::overwrite,
         o.middle_rows(first, count));
  });
}

void causal_attention_backward(ConstMatrixF q, ConstMatrixF k, ConstMatrixF v, const float* lse,
                               ConstMatrixF d_o, float* scores, float* d_scores,
                               AttentionGradients gradients) {
  const float scale = score_scale(q.cols);
  zero_rows(gradients.dk);
  zero_rows(gradients.dv);
  for_each_tile(q.rows, [&](dim_t first, dim_t count, dim_t keys) {
    const ConstMatrixF q_tile = q.middle_rows(first, count);
    const ConstMatrixF do_tile = d_o.middle_rows(first, count);
    const ConstMatrixF k_seen = k.middle_rows(0, keys);
    const MatrixF p(scores, count, keys);
    gemm(Op::none, q_tile, Op::transpose, k_seen, Into::overwrite, p);
    causal_softmax_from_lse(first, scale, lse + first, p);
    gemm(Op::transpose, p, Op::none, do_tile, Into::accumulate, gradients.dv.middle_rows(0, keys));

    const MatrixF ds(d_scores, count, keys);
    gemm(Op::none, do_tile, Op::transpose, v.middle_rows(0, keys), Into::overwrite, ds);
    causal_softmax_backward(first, scale, p, ds);
    gemm(Op::none, ds, Op::none, k_seen, Into::overwrite, gradients.dq.middle_rows(first, count));
    gemm(Op::transpose, ds, Op::none, q_tile, Into::accumulate, gradients.dk.middle_rows(0, keys));
  });
}

}  // namespace dsf
