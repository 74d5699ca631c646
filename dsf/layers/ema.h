#pragma once

// MEGA's multi-dimensional damped exponential moving average (Ma et al., 2023, arXiv 2209.10655,
// eqs. 3 and 4), gated: a real diagonal state-space model, trained exactly.
//
//   D input width, E channels, N dimensions a channel
//
//   [v, r] = x Win^T + b                                        Win [2E, D]
//   h_t[n] = alpha[n] beta[n] v_t + (1 - alpha[n] delta[n]) h_{t-1}[n]     for each channel, n < N
//   m_t    = sum_n eta[n] h_t[n] / sqrt(N) + omega v_t
//   y      = silu(m) * silu(r)                                  E wide; the block's Proj follows
//
// alpha and delta are sigmoids of trained numbers. The inner two lines, the factor 1/sqrt(N), the
// skip weight omega, the SiLU after the average and all initial values are those of MEGA's
// published code; the trained beta is kept as the distance from MEGA's starting pattern
// 1, -1, 1, ..., so that it is drawn like every other parameter.
//
// Why the gate, and why E = 9/4 D. The average alone has (4N + 1) D parameters, and the model of
// the paper's table 4 would have 23.6M of them; it states 28.2M, like the GRU's, with the same
// width (512), depth (3) and vocabulary (16000), and does not say what surrounds the average. In
// MEGA that is a gated layer: the input is widened by linear maps, the average's output is
// multiplied by silu of a gate, and a linear map brings it back (MEGA's v, r and h_proj, without
// its attention). Of that arrangement, with N = 16, E = 9/4 D is the ratio in quarters of D that
// gives 28.2M (28.248M); MEGA's own E = 2 D would give 27.6M, 5/2 D 28.9M.
//
// Computed as s = h / (alpha beta), which the recurrence allows because it is linear: the input
// needs no multiplication, and the output weighs s by k = alpha beta eta / sqrt(N)
// (kernels/ema_scan, whose q is 1 - alpha delta). The state carried from batch to batch is s. The
// backward pass overwrites v, r and m on the tape by their gradients, so it runs once after a
// forward pass.

#include <memory>
#include <string>

#include "dsf/kernels/ema_scan.h"
#include "dsf/layers/linear.h"
#include "dsf/layers/mixer.h"

namespace dsf {

/// MEGA's damped moving average in a recurrent layer's place; its gradients are exact.
class Ema final : public Mixer {
 public:
  static constexpr dim_t kDefaultDims = 16;
  static constexpr dim_t default_channels(dim_t width) { return 9 * width / 4; }

  /// Adds `<prefix>in.*` [2E, D] (normal with `deviation`), `<prefix>{alpha,delta,beta,eta}` [E, N]
  /// and `<prefix>omega` [E] to the table. Throws ConfigError if channels or dims are not
  /// positive or dims is larger than kEmaMaxDims.
  Ema(ParameterTable& table, const std::string& prefix, dim_t width, dim_t channels, dim_t dims,
      float deviation);

  dim_t output_width() const override { return channels_; }
  dim_t state_width() const override { return channels_ * dims_; }
  std::unique_ptr<MixerTape> make_tape() const override;

  void forward(Weights weights, const PackedLayout& layout, ConstMatrixF x, MatrixF state,
               MixerTape& tape, MatrixF y) override;
  void backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy, MatrixF dx,
                Gradients gradients) override;

 private:
  struct Tape;

  void compute_coefficients(Weights weights);
  EmaCoefficients coefficients() const;
  float beta_at(dim_t channel, dim_t n) const;
  void add_parameter_gradients(const Tape& tape, Gradients gradients) const;

  dim_t channels_;
  dim_t dims_;
  Linear in_;
  ParameterId alpha_id_;
  ParameterId delta_id_;
  ParameterId beta_id_;
  ParameterId eta_id_;
  ParameterId omega_id_;

  PackedVersion computed_;  // the version that the members below belong to
  Weights weights_;
  Matrix alpha_;  // [E, N]: the sigmoids
  Matrix delta_;  // [E, N]
  Matrix q_;      // [N, E]
  Matrix k_;      // [N, E]
};

}  // namespace dsf
