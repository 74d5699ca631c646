#pragma once

// Causal attention of one head over one sequence.   T steps, d = head's width
//
//   P = softmax(Q K^T / sqrt(d)), query i over keys 0..i         [T, T], never whole
//   O = P V
//
// The queries go through in tiles of kAttentionTile rows, each against all the keys it may see, so
// memory is O(T kAttentionTile). The backward pass computes the probabilities again from the scores
// and the saved log-sum-exp of each row, as FlashAttention does (Dao et al., 2022):
//
//   dV = P^T dO
//   dP = dO V^T
//   dS = P * (dP - rowsum(P * dP)) / sqrt(d)
//   dQ = dS K
//   dK = dS^T Q
//
// Both run on the thread they are called on if that is inside a task of parallel_for.

#include "dsf/base/view.h"

namespace dsf {

inline constexpr dim_t kAttentionTile = 64;

/// q, k, v [T, d] in. scores: scratch of kAttentionTile * T floats. lse [T] and o [T, d]
/// overwritten.
void causal_attention_forward(ConstMatrixF q, ConstMatrixF k, ConstMatrixF v, float* scores,
                              float* lse, MatrixF o);

/// Gradients [T, d] of q, k, v, overwritten; none may alias an input.
struct AttentionGradients {
  MatrixF dq;
  MatrixF dk;
  MatrixF dv;
};

/// q, k, v [T, d] and lse [T] as in forward; d_o [T, d] in. scores, d_scores: scratch of
/// kAttentionTile * T floats each.
void causal_attention_backward(ConstMatrixF q, ConstMatrixF k, ConstMatrixF v, const float* lse,
                               ConstMatrixF d_o, float* scores, float* d_scores,
                               AttentionGradients gradients);

}  // namespace dsf
