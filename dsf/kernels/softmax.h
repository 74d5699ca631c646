#pragma once

// Softmax and cross-entropy over the rows of a matrix of logits z [n, V]
//
//   p_j  = exp(z_j - max z) / sum_k exp(z_k - max z)
//   loss = log sum_k exp(z_k) - z_target                     natural logarithm
//   dloss/dz_j = p_j - [j = target]
//
// Rows are independent and spread over the threads; the sum of a row is taken in one fixed order.
// The cross-entropies answer any NaN or infinity among the logits of a row with a loss of NaN (and
// a gradient of NaN), so that a diverged model cannot pass for a trained one.

#include <cstdint>
#include <span>

#include "dsf/base/token_batch.h"
#include "dsf/base/view.h"

namespace dsf {

/// Loss and gradient in one go.
///   logits    [n, V]  in-out: overwritten by (p - onehot(target)) * scale
///   targets   [n]     in, each in [0, V)
///   loss      [n]     overwritten; not scaled
///   correct   [n]     overwritten: 1 where the target is the first of the largest logits, else 0
///   bias      [V]     added to every row of the logits first; null: none. Added here, while the row
///                     is in the cache, it costs no way through memory of its own.
void softmax_cross_entropy(MatrixF logits, std::span<const token_t> targets, float scale,
                           std::span<float> loss, std::span<std::uint8_t> correct,
                           const float* bias = nullptr);

/// Loss and correctness alone; the logits stay as they are. The same bits as softmax_cross_entropy.
void cross_entropy(ConstMatrixF logits, std::span<const token_t> targets, std::span<float> loss,
                   std::span<std::uint8_t> correct);

/// Each row is overwritten by its softmax. -infinity is a masked place and becomes 0; a row with a
/// NaN or +infinity, or with nothing but -infinity, becomes NaN.
void softmax(MatrixF rows);

}  // namespace dsf
