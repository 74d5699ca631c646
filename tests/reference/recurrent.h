#pragma once

// Recurrent layers as their definitions read, one row at a time, for any scalar: double for values,
// complex<double> for derivatives by complex step (Squire and Trapp, 1998): for analytic f,
// f'(x) = Im f(x + i h) / h without cancellation, exact to rounding for tiny h.
//
// Nothing here shares formulas with the library: cells are forward only, and every derivative the
// backward pass needs is a complex step of that forward.

#include <array>
#include <complex>
#include <vector>

#include "dsf/base/packed_layout.h"
#include "dsf/cells/cell.h"
#include "tests/reference/grid.h"

namespace dsf::reference {

using Complex = std::complex<double>;
inline constexpr double kComplexStep = 1e-100;

struct LayerSpec {
  CellKind kind = CellKind::gru;
  GruReset reset = GruReset::after;
  dim_t input = 0;
  dim_t hidden = 0;

  dim_t gates() const { return kind == CellKind::rnn ? 1 : kind == CellKind::gru ? 3 : 4; }
  dim_t state() const { return kind == CellKind::lstm ? 2 * hidden : hidden; }
};

/// weight_ih, weight_hh, bias_ih, bias_hh, in this order.
template <typename T>
using Parameters = std::array<Grid<T>, 4>;
inline constexpr std::array<const char*, 4> kParameterNames = {"weight_ih", "weight_hh", "bias_ih",
                                                               "bias_hh"};

template <typename To, typename From>
Parameters<To> cast(const Parameters<From>& p) {
  return {Grid<To>(p[0]), Grid<To>(p[1]), Grid<To>(p[2]), Grid<To>(p[3])};
}

Parameters<double> zero_parameters(const LayerSpec& spec);
/// Uniform in +-1/sqrt(D), as the layer starts.
Parameters<double> random_parameters(const LayerSpec& spec, Rng& rng);

template <typename T>
T sigmoid(T x) {
  return T(1.0) / (T(1.0) + std::exp(-x));
}

/// s_t = f(x_t, s_{t-1}), PyTorch's documented equations of RNN, GRU and LSTM; gates by PyTorch's
/// order, written as plain numbers.
template <typename T>
std::vector<T> cell_step(const LayerSpec& spec, const Parameters<T>& p, const std::vector<T>& x,
                         const std::vector<T>& previous) {
  const auto& [W, U, b_ih, b_hh] = p;
  const dim_t D = spec.hidden;
  const auto at = [](const std::vector<T>& v, dim_t j) { return v[static_cast<std::size_t>(j)]; };
  const auto from_input = [&](dim_t gate, dim_t j) {
    T sum = b_ih(0, gate * D + j);
    for (dim_t i = 0; i < spec.input; ++i) sum += W(gate * D + j, i) * at(x, i);
    return sum;
  };
  const auto from_state = [&](dim_t gate, dim_t j, const std::vector<T>& h) {
    T sum = b_hh(0, gate * D + j);
    for (dim_t i = 0; i < D; ++i) sum += U(gate * D + j, i) * at(h, i);
    return sum;
  };
  const auto gate_sum = [&](dim_t gate, dim_t j) {
    return from_input(gate, j) + from_state(gate, j, previous);
  };

  std::vector<T> state(static_cast<std::size_t>(spec.state()));
  const auto place = [&state](dim_t j) -> T& { return state[static_cast<std::size_t>(j)]; };
  if (spec.kind == CellKind::rnn) {
    for (dim_t j = 0; j < D; ++j) place(j) = std::tanh(gate_sum(0, j));
    return state;
  }
  if (spec.kind == CellKind::lstm) {
    for (dim_t j = 0; j < D; ++j) {
      const T i = sigmoid(gate_sum(0, j));
      const T f = sigmoid(gate_sum(1, j));
      const T g = std::tanh(gate_sum(2, j));
      const T o = sigmoid(gate_sum(3, j));
      const T c = f * at(previous, D + j) + i * g;
      place(j) = o * std::tanh(c);
      place(D + j) = c;
    }
    return state;
  }
  std::vector<T> r(static_cast<std::size_t>(D));
  std::vector<T> reset_h(static_cast<std::size_t>(D));
  for (dim_t j = 0; j < D; ++j) {
    r[static_cast<std::size_t>(j)] = sigmoid(gate_sum(0, j));
    reset_h[static_cast<std::size_t>(j)] = at(r, j) * at(previous, j);
  }
  for (dim_t j = 0; j < D; ++j) {
    const T z = sigmoid(gate_sum(1, j));
    const T n = spec.reset == GruReset::after
                    ? std::tanh(from_input(2, j) + at(r, j) * from_state(2, j, previous))
                    : std::tanh(from_input(2, j) + from_state(2, j, reset_h));
    place(j) = (T(1.0) - z) * n + z * at(previous, j);
  }
  return state;
}

/// States [N, S] of all rows; `initial` [B, S].
template <typename T>
Grid<T> layer_forward(const LayerSpec& spec, const Parameters<T>& p, const PackedLayout& layout,
                      const Grid<T>& x, const Grid<T>& initial) {
  Grid<T> states(layout.total_rows(), spec.state());
  for (dim_t t = 0; t < layout.steps(); ++t) {
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      const std::vector<T> previous =
          t == 0 ? initial.row(b) : states.row(layout.offset(t - 1) + b);
      const dim_t row = layout.offset(t) + b;
      states.set_row(row, cell_step(spec, p, x.row(row), previous));
    }
  }
  return states;
}

/// J_t with the recurrent matrices U replaced by others, U', the values of the gates staying what
/// they are: f with U h written as  U' h + (U - U') h0,  h0 the value of h. `at` [S]: s_{t-1}. The
/// values of f at it are the same as with p.
Parameters<double> frozen_parameters(const LayerSpec& spec, const Parameters<double>& p,
                                     const std::vector<double>& x, const std::vector<double>& at,
                                     const Grid<double>& replacement);

/// What is carried from a step to the one before it. D is the diagonal part of J: J without U, and
/// with U's diagonal if there is nothing else (the rnn).
///
///   bptt       g J
///   ft         0
///   dsf        a g
///   gated      g D
///   gated_dsf  g D + a (g - g D)
///   low_rank   g J, the blocks of U replaced by low_rank() ones (low_rank.h): of the gru those of
///              r and z together and that of the candidate, the latter only if it resets after
///   iterated   g^(i) D + g^(i-1) (J - D) for i = 0, ..., number, where g^(-1) is zero
///   matrix     g A
enum class Method { bptt, ft, dsf, gated, gated_dsf, low_rank, iterated, matrix };

struct Carry {
  Method method = Method::bptt;
  dim_t number = 0;       ///< the rank, or the corrections
  std::vector<double> a;  ///< [S]
  Grid<double> A;         ///< [S, S]
};

struct TotalGradients {
  Grid<double> g;        ///< [N, S]
  Grid<double> initial;  ///< [B, S]: of the initial states, what step 0 carries to them
};

struct LayerGradients {
  Grid<double> dx;
  Parameters<double> parameters;
  TotalGradients total;
};

/// A layer and a batch for it: x [N, I], initial [B, S].
struct LayerProblem {
  const LayerSpec& spec;
  const Parameters<double>& parameters;
  const PackedLayout& layout;
  const Grid<double>& x;
  const Grid<double>& initial;
};

/// g_t = e_t + what `carry` makes of g_{t+1};  e [N, S].
TotalGradients total_gradients(const LayerProblem& problem, const Grid<double>& e,
                               const Carry& carry);

/// The same, and  d theta = sum_t g_t df_t/dtheta.
LayerGradients layer_backward(const LayerProblem& problem, const Grid<double>& e,
                              const Carry& carry);

}  // namespace dsf::reference
