#pragma once

// The softmax of causal attention, on a tile of score rows. Row r of the tile is query
// i = first + r and may look at the keys 0..i: columns beyond are masked.
//
//   lse_i = log sum_{j<=i} exp(scale z_ij)
//   p_ij  = exp(scale z_ij - lse_i)           for j <= i, else 0
//   ds_ij = p_ij (dp_ij - sum_k p_ik dp_ik)   gradient of scale z_ij;   dz = scale ds
//
// These run on the calling thread: attention is spread over (sequence, head) pairs.

#include "dsf/base/view.h"

namespace dsf {

/// z [rows, keys]: scores in, probabilities out, zero beyond the diagonal. lse [rows] overwritten.
/// keys >= first + rows.
void causal_softmax(dim_t first, float scale, MatrixF z, float* lse);

/// The same probabilities from the scores and the lse kept by causal_softmax. z: in-out.
void causal_softmax_from_lse(dim_t first, float scale, const float* lse, MatrixF z);

/// p, dp [rows, keys]; dp is overwritten by dz, zero beyond the diagonal.
void causal_softmax_backward(dim_t first, float scale, ConstMatrixF p, MatrixF dp);

}  // namespace dsf
