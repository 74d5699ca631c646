#pragma once

// The position-wise layers, as scalar code over double, complex<double> or Var. Forward only: their
// gradients come from tests/reference/autodiff.h. Parameters are found by name.

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "dsf/base/token_batch.h"
#include "tests/reference/grid.h"

namespace dsf::reference {

template <typename S>
using NamedGrids = std::map<std::string, Grid<S>>;

template <typename S>
Grid<S> operator+(const Grid<S>& a, const Grid<S>& b) {
  Grid<S> sum(a.rows, a.cols);
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] = a.values[i] + b.values[i];
  return sum;
}

/// y = x W^T + b
template <typename S>
Grid<S> linear(const NamedGrids<S>& parameters, const std::string& prefix, const Grid<S>& x) {
  const Grid<S>& weight = parameters.at(prefix + "weight");
  const Grid<S>& bias = parameters.at(prefix + "bias");
  Grid<S> y(x.rows, weight.rows);
  for (dim_t i = 0; i < x.rows; ++i) {
    for (dim_t o = 0; o < weight.rows; ++o) {
      S sum = bias(0, o);
      for (dim_t j = 0; j < x.cols; ++j) sum += weight(o, j) * x(i, j);
      y(i, o) = sum;
    }
  }
  return y;
}

/// y = gamma (x - mean) / sqrt(variance + 1e-5) + beta
template <typename S>
Grid<S> layer_norm(const NamedGrids<S>& parameters, const std::string& prefix, const Grid<S>& x) {
  using std::sqrt;
  const Grid<S>& gamma = parameters.at(prefix + "weight");
  const Grid<S>& beta = parameters.at(prefix + "bias");
  constexpr double kEpsilon = 1e-5;
  const auto width = static_cast<double>(x.cols);
  Grid<S> y(x.rows, x.cols);
  for (dim_t i = 0; i < x.rows; ++i) {
    S mean = 0.0;
    for (dim_t j = 0; j < x.cols; ++j) mean += x(i, j) / S(width);
    S variance = 0.0;
    for (dim_t j = 0; j < x.cols; ++j) variance += (x(i, j) - mean) * (x(i, j) - mean) / S(width);
    for (dim_t j = 0; j < x.cols; ++j) {
      y(i, j) = gamma(0, j) * (x(i, j) - mean) / sqrt(variance + S(kEpsilon)) + beta(0, j);
    }
  }
  return y;
}

/// GPT-2's: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
template <typename S>
Grid<S> gelu(Grid<S> x) {
  using std::tanh;
  for (S& v : x.values) {
    const S u = S(std::sqrt(2.0 / std::numbers::pi)) * (v + S(0.044715) * v * v * v);
    v = S(0.5) * v * (S(1.0) + tanh(u));
  }
  return x;
}

template <typename S>
Grid<S> mlp(const NamedGrids<S>& parameters, const std::string& prefix, const Grid<S>& x) {
  return linear(parameters, prefix + "out.", gelu(linear(parameters, prefix + "in.", x)));
}

/// x + Proj(Mixer(LN1 x)), then + MLP(LN2 .); `mixer` maps [N, D] to its output.
template <typename S, typename Mixer>
Grid<S> transformer_block(const NamedGrids<S>& parameters, const std::string& prefix, bool skip,
                          const Grid<S>& x, const Mixer& mixer) {
  Grid<S> u =
      linear(parameters, prefix + "proj.", mixer(layer_norm(parameters, prefix + "norm1.", x)));
  if (skip) u = u + x;
  const Grid<S> y = mlp(parameters, prefix + "mlp.", layer_norm(parameters, prefix + "norm2.", u));
  return skip ? y + u : y;
}

/// sum over rows of -log softmax(logits)[target]
template <typename S>
S cross_entropy(const Grid<S>& logits, const std::vector<token_t>& targets) {
  using std::exp;
  using std::log;
  S loss = 0.0;
  for (dim_t i = 0; i < logits.rows; ++i) {
    S sum = 0.0;
    for (dim_t v = 0; v < logits.cols; ++v) sum += exp(logits(i, v));
    loss += log(sum) - logits(i, targets[static_cast<std::size_t>(i)]);
  }
  return loss;
}

}  // namespace dsf::reference
