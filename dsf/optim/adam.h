#pragma once

// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019) on flat spans.
//
//   g' = g + weight_decay * w     Adam: L2 inside the gradient, as torch.optim.Adam
//   m  = beta1 m + (1 - beta1) g'
//   v  = beta2 v + (1 - beta2) g'^2
//   w -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
//
//   AdamW: g' = g, and first w *= 1 - lr * weight_decay

#include <span>

#include "dsf/base/buffer.h"

namespace dsf {

/// The constants of the equations above, without the learning rate, which has a schedule.
struct AdamConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  bool decoupled = false;  ///< true: AdamW
};

/// The optimiser's memory: two moments of the size of the weights, and the number of updates done.
struct AdamState {
  Buffer<float> m;
  Buffer<float> v;
  dim_t updates = 0;
};

/// One update; state.updates is counted up first (the t of the equations). Spans have equal length.
/// `gradient_scale` multiplies the gradient on the way in (clipping costs no extra pass).
void adam_update(const AdamConfig& config, double learning_rate, double gradient_scale,
                 std::span<const float> gradient, AdamState& state, std::span<float> weights);

}  // namespace dsf
