#include "dsf/optim/adam.h"

#include <fmt/format.h>

#include <cmath>

#include "dsf/base/error.h"
#include "dsf/kernels/optim_kernels.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

// Elements of one task: four arrays of 256 KiB stream through it.
constexpr dim_t kChunk = 65536;

// With the corrections of the moments moved out of the loop:
//   lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
//     = rate m / (sqrt(v) denominator_scale + epsilon)
AdamCoefficients coefficients_at(const AdamConfig& config, double learning_rate,
                                 double gradient_scale, dim_t t) {
  const double correction1 = 1.0 - std::pow(config.beta1, static_cast<double>(t));
  const double correction2 = 1.0 - std::pow(config.beta2, static_cast<double>(t));
  const double decay = config.weight_decay;
  return {
      .gradient_scale = static_cast<float>(gradient_scale),
      .l2 = static_cast<float>(config.decoupled ? 0.0 : decay),
      .beta1 = static_cast<float>(config.beta1),
      .one_minus_beta1 = static_cast<float>(1.0 - config.beta1),
      .beta2 = static_cast<float>(config.beta2),
      .one_minus_beta2 = static_cast<float>(1.0 - config.beta2),
      .keep = static_cast<float>(config.decoupled ? 1.0 - learning_rate * decay : 1.0),
      .rate = static_cast<float>(learning_rate / correction1),
      .denominator_scale = static_cast<float>(1.0 / std::sqrt(correction2)),
      .epsilon = static_cast<float>(config.epsilon),
  };
}

void require_equal_sizes(dim_t weights, dim_t gradient, const AdamState& state) {
  if (gradient == weights && state.m.size() == weights && state.v.size() == weights) return;
  throw Error(
      fmt::format("adam: {} weights with {} gradients and moments of {} and {}; all must be equal",
                  weights, gradient, state.m.size(), state.v.size()));
}

}  // namespace

void adam_update(const AdamConfig& config, double learning_rate, double gradient_scale,
                 std::span<const float> gradient, AdamState& state, std::span<float> weights) {
  const auto size = static_cast<dim_t>(weights.size());
  if (state.m.empty()) state.m.resize(size);
  if (state.v.empty()) state.v.resize(size);
  require_equal_sizes(size, static_cast<dim_t>(gradient.size()), state);

  ++state.updates;
  const AdamCoefficients coefficients =
      coefficients_at(config, learning_rate, gradient_scale, state.updates);
  parallel_ranges(size, kChunk, [&](dim_t begin, dim_t end) {
    const auto first = static_cast<std::size_t>(begin);
    const auto count = static_cast<std::size_t>(end - begin);
    adam_step(coefficients, gradient.subspan(first, count), state.m.span().subspan(first, count),
              state.v.span().subspan(first, count), weights.subspan(first, count));
  });
}

}  // namespace dsf
