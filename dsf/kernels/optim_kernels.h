#pragma once

// The loops of the optimiser over flat arrays, one thread each: dsf/optim cuts the arrays into
// chunks of fixed size and spreads these over the threads.

#include <span>

namespace dsf {

/// Adam's update with everything that does not depend on the element worked out before:
///
///   g' = gradient_scale g + l2 w
///   m  = beta1 m + (1 - beta1) g'
///   v  = beta2 v + (1 - beta2) g'^2
///   w  = keep w - rate m / (sqrt(v) denominator_scale + epsilon)
struct AdamCoefficients {
  float gradient_scale = 1.0F;
  float l2 = 0.0F;
  float beta1 = 0.0F;
  float one_minus_beta1 = 1.0F;
  float beta2 = 0.0F;
  float one_minus_beta2 = 1.0F;
  float keep = 1.0F;               ///< 1 - lr * weight_decay for AdamW
  float rate = 0.0F;               ///< lr / (1 - beta1^t)
  float denominator_scale = 1.0F;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon = 0.0F;
};

/// One pass over memory. `gradient` in; `m`, `v`, `w` in-out; all as long as `w`, without overlap.
void adam_step(const AdamCoefficients& coefficients, std::span<const float> gradient,
               std::span<float> m, std::span<float> v, std::span<float> w);

/// sum_i x_i^2 in double.
double sum_of_squares(std::span<const float> x);

}  // namespace dsf
