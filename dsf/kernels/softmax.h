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

#include "dsf/base/bf16.h"
#include "dsf/base/token_batch.h"
#include "dsf/base/view.h"

namespace dsf {

/// What the cross-entropies of n rows are of, and where they go.
struct CrossEntropy {
  std::span<const token_t> targets;  ///< [n], each in [0, V)
  float scale = 1.0F;                ///< of the gradient, not of the loss
  std::span<float> loss;             ///< [n] overwritten
  /// [n] overwritten: 1 if the target is the first of the largest logits, else 0
  std::span<std::uint8_t> correct;
  /// [V], added to every row of the logits first; null: none. Added here, while the row is in the
  /// cache, it costs no way through memory of its own.
  const float* bias = nullptr;
};

/// Rows whose gradients are summed together.
inline constexpr dim_t kGradientGroup = 32;

/// Loss and gradient in one go: the logits [n, V] are overwritten by (p - onehot(target)) * scale, and
/// `group_sums` [ceil(n / kGradientGroup), V] by the sums of that over the rows of each group, taken
/// while a row is in the cache.
void softmax_cross_entropy(MatrixF logits, const CrossEntropy& goal, MatrixF group_sums);

/// The same with the gradient rounded into `gradient` [n, V]. The sums are taken before it is rounded; the
/// logits are lost.
void softmax_cross_entropy(MatrixF logits, const CrossEntropy& goal, MatrixView<bf16_t> gradient,
                           MatrixF group_sums);

/// Loss and correctness alone; the logits stay as they are. The same bits as softmax_cross_entropy.
void cross_entropy(ConstMatrixF logits, std::span<const token_t> targets, std::span<float> loss,
                   std::span<std::uint8_t> correct);

/// Each row is overwritten by its softmax. -infinity is a masked place and becomes 0; a row with a
/// NaN or +infinity, or with nothing but -infinity, becomes NaN.
void softmax(MatrixF rows);

}  // namespace dsf
