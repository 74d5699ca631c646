#include "dsf/layers/ema.h"

#include <fmt/format.h>

#include <cmath>

#include "dsf/base/error.h"
#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/silu_gate.h"

namespace dsf {
namespace {

// MEGA's initial deviations.
constexpr float kDampingDeviation = 0.2F;  // alpha and delta, before the sigmoid
constexpr float kBetaDeviation = 0.02F;
constexpr float kOutputDeviation = 1.0F;  // eta and omega

constexpr dim_t kChannelsPerTask = 64;

float sigmoid(float x) {
  return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
}

float inverse_root(dim_t n) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(n))); }

/// body(channel, n) for all of them, tasks of whole channels.
template <typename Body>
void for_each_dimension(dim_t channels, dim_t dims, const Body& body) {
  parallel_ranges(channels, kChannelsPerTask, [&](dim_t begin, dim_t end) {
    for (dim_t j = begin; j < end; ++j) {
      for (dim_t n = 0; n < dims; ++n) body(j, n);
    }
  });
}

}  // namespace

struct Ema::Tape final : MixerTape {
  Matrix vr;             // [rows, 2E]: v and r; backward, their gradients
  Matrix m;              // [rows, E]; backward, its gradient
  Matrix initial_state;  // [B, N E], empty if the states started at zero
  Matrix dq;             // [N, E]
  Matrix dk;             // [N, E]
  Matrix domega;         // [1, E]
  Buffer<float> scan_work;
  LinearScratch linear;

  MatrixF v() { return vr.view().middle_cols(0, m.cols()); }
  MatrixF r() { return vr.view().middle_cols(m.cols(), m.cols()); }
};

Ema::Ema(ParameterTable& table, const std::string& prefix, dim_t width, dim_t channels, dim_t dims,
         float deviation)
    : channels_(channels),
      dims_(dims),
      in_(table, prefix + "in.", width, 2 * channels, Init::normal(deviation)),
      alpha_id_(
          table.add_matrix(prefix + "alpha", channels, dims, Init::normal(kDampingDeviation))),
      delta_id_(
          table.add_matrix(prefix + "delta", channels, dims, Init::normal(kDampingDeviation))),
      beta_id_(table.add_matrix(prefix + "beta", channels, dims, Init::normal(kBetaDeviation))),
      eta_id_(table.add_matrix(prefix + "eta", channels, dims, Init::normal(kOutputDeviation))),
      omega_id_(table.add_vector(prefix + "omega", channels, Init::normal(kOutputDeviation))) {
  if (channels < 1 || dims < 1 || dims > kEmaMaxDims) {
    throw ConfigError(fmt::format(
        "a damped average of {} channels with {} dimensions each: at least one channel and between "
        "1 and {} dimensions are needed",
        channels, dims, kEmaMaxDims));
  }
}

std::unique_ptr<MixerTape> Ema::make_tape() const { return std::make_unique<Tape>(); }

EmaCoefficients Ema::coefficients() const { return {q_, k_, weights_.vector(omega_id_)}; }

float Ema::beta_at(dim_t channel, dim_t n) const {
  return (n % 2 == 0 ? 1.0F : -1.0F) + weights_(beta_id_)(channel, n);
}

// q = 1 - alpha delta,   k = alpha beta eta / sqrt(N)
void Ema::compute_coefficients(Weights weights) {
  weights_ = weights;
  const MatrixF alpha = alpha_.reshape(channels_, dims_);
  const MatrixF delta = delta_.reshape(channels_, dims_);
  const MatrixF q = q_.reshape(dims_, channels_);
  const MatrixF k = k_.reshape(dims_, channels_);
  const float scale = inverse_root(dims_);
  for_each_dimension(channels_, dims_, [&](dim_t j, dim_t n) {
    alpha(j, n) = sigmoid(weights(alpha_id_)(j, n));
    delta(j, n) = sigmoid(weights(delta_id_)(j, n));
    q(n, j) = 1.0F - alpha(j, n) * delta(j, n);
    k(n, j) = alpha(j, n) * beta_at(j, n) * weights(eta_id_)(j, n) * scale;
  });
}

void Ema::forward(Weights weights, const PackedLayout& layout, ConstMatrixF x, MatrixF state,
                  MixerTape& tape, MatrixF y) {
  computed_.renew(weights, [&] { compute_coefficients(weights); });
  auto& mine = static_cast<Tape&>(tape);
  in_.forward(weights, x, mine.linear, mine.vr.reshape(x.rows, 2 * channels_));
  copy(state, mine.initial_state.reshape(state.rows, state.cols));
  const MatrixF m = mine.m.reshape(x.rows, channels_);
  ema_forward(layout, coefficients(), mine.v(), state, m);
  silu_gate_forward(m, mine.r(), y);
}

void Ema::backward(const PackedLayout& layout, ConstMatrixF x, MixerTape& tape, MatrixF dy,
                   MatrixF dx, Gradients gradients) {
  auto& mine = static_cast<Tape&>(tape);
  silu_gate_backward(dy, mine.m, mine.r());
  const EmaCoefficientGradients to{mine.dq.reshape(dims_, channels_),
                                   mine.dk.reshape(dims_, channels_),
                                   mine.domega.reshape(1, channels_).data};
  ema_backward(layout, coefficients(), mine.initial_state.view(), mine.m.view(), mine.v(),
               mine.scan_work, mine.v(), to);
  add_parameter_gradients(mine, gradients);
  in_.backward(x, mine.vr, mine.linear, dx, gradients);
}

// From k = alpha beta eta / sqrt(N) and q = 1 - alpha delta:
//
//   dalpha = dk beta eta / sqrt(N) - dq delta     through sigmoid' = s (1 - s)
//   ddelta = - dq alpha                           through sigmoid' = s (1 - s)
//   dbeta  = dk alpha eta / sqrt(N)
//   deta   = dk alpha beta / sqrt(N)
void Ema::add_parameter_gradients(const Tape& tape, Gradients gradients) const {
  const ConstMatrixF dq = tape.dq;
  const ConstMatrixF dk = tape.dk;
  const ConstMatrixF alpha = alpha_;
  const ConstMatrixF delta = delta_;
  const ConstMatrixF eta = weights_(eta_id_);
  const float scale = inverse_root(dims_);
  for_each_dimension(channels_, dims_, [&](dim_t j, dim_t n) {
    const float a = alpha(j, n);
    const float d = delta(j, n);
    const float beta = beta_at(j, n);
    const float dw = dk(n, j) * scale;
    gradients(alpha_id_)(j, n) += (dw * beta * eta(j, n) - dq(n, j) * d) * a * (1.0F - a);
    gradients(delta_id_)(j, n) -= dq(n, j) * a * d * (1.0F - d);
    gradients(beta_id_)(j, n) += dw * a * eta(j, n);
    gradients(eta_id_)(j, n) += dw * a * beta;
  });
  add(tape.domega, gradients(omega_id_));
}

}  // namespace dsf
