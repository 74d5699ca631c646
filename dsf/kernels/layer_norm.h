#pragma once

// Layer normalisation (Ba, Kiros and Hinton, 2016) over the rows of x [n, D]
//
//   mean = sum_j x_j / D       rstd = 1 / sqrt(sum_j (x_j - mean)^2 / D + epsilon)
//   x^_j = (x_j - mean) rstd
//   y_j  = gamma_j x^_j + beta_j

#include "dsf/base/buffer.h"
#include "dsf/base/view.h"

namespace dsf {

inline constexpr float kLayerNormEpsilon = 1e-5F;

/// Trained vectors [D] of a layer normalisation.
struct LayerNormWeights {
  const float* gamma = nullptr;
  const float* beta = nullptr;
};

/// What the backward pass needs beside x: one number per row, [n] each.
struct LayerNormStatistics {
  float* mean = nullptr;
  float* rstd = nullptr;
};

/// Gradients [D] of the trained vectors.
struct LayerNormGradients {
  float* gamma = nullptr;
  float* beta = nullptr;
};

/// y [n, D] and the statistics are overwritten. y may be the same view as x if no backward pass
/// follows.
void layer_norm_forward(ConstMatrixF x, LayerNormWeights weights, LayerNormStatistics statistics,
                        MatrixF y);

/// With d_j = gamma_j dy_j:
///   dx_j   = rstd (d_j - (sum_k d_k + x^_j sum_k d_k x^_k) / D)
///   dgamma_j += sum over rows of dy_j x^_j,     dbeta_j += sum over rows of dy_j
/// dx [n, D] is overwritten and may be the same view as dy; the gradients are accumulated into, by
/// chunks of rows of fixed size added in order. `work` grows to two rows per chunk.
void layer_norm_backward(ConstMatrixF dy, ConstMatrixF x, const float* gamma,
                         LayerNormStatistics statistics, Buffer<float>& work, MatrixF dx,
                         LayerNormGradients gradients);

}  // namespace dsf
