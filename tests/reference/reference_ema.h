#pragma once

// MEGA's damped exponential moving average as its paper prints it (eqs. 3 and 4), h_t step by step,
// with the gate of layers/ema around it.

#include <cmath>
#include <string>

#include "dsf/base/packed_layout.h"
#include "tests/reference/reference_layers.h"

namespace dsf::reference {

template <typename S>
S logistic(const S& x) {
  using std::exp;
  return S(1.0) / (S(1.0) + exp(S(0.0) - x));
}

template <typename S>
S silu(const S& x) {
  return x * logistic(x);
}

/// `initial` [B, N E]: the states s = h / (alpha beta) before the first step, dimension after
/// dimension; empty starts from zero.
template <typename S>
Grid<S> ema(const NamedGrids<S>& parameters, const std::string& prefix, const PackedLayout& layout,
            const Grid<double>& initial, const Grid<S>& x) {
  const Grid<S>& alpha_logit = parameters.at(prefix + "alpha");
  const Grid<S>& delta_logit = parameters.at(prefix + "delta");
  const Grid<S>& beta_offset = parameters.at(prefix + "beta");
  const Grid<S>& eta = parameters.at(prefix + "eta");
  const Grid<S>& omega = parameters.at(prefix + "omega");
  const dim_t channels = alpha_logit.rows;
  const dim_t dims = alpha_logit.cols;

  const Grid<S> vr = linear(parameters, prefix + "in.", x);
  Grid<S> m(x.rows, channels);
  for (dim_t i = 0; i < x.rows; ++i) {
    for (dim_t j = 0; j < channels; ++j) m(i, j) = omega(0, j) * vr(i, j);
  }
  for (dim_t j = 0; j < channels; ++j) {
    for (dim_t n = 0; n < dims; ++n) {
      const S alpha = logistic(alpha_logit(j, n));
      const S delta = logistic(delta_logit(j, n));
      const S beta = S(n % 2 == 0 ? 1.0 : -1.0) + beta_offset(j, n);
      for (dim_t b = 0; b < layout.batch(); ++b) {
        S h = 0.0;
        if (initial.rows > 0) h = alpha * beta * S(initial(b, n * channels + j));
        for (dim_t t = 0; t < layout.length(b); ++t) {
          const dim_t i = layout.offset(t) + b;
          h = alpha * (beta * vr(i, j)) + (S(1.0) - alpha * delta) * h;
          m(i, j) += eta(j, n) * h / S(std::sqrt(static_cast<double>(dims)));
        }
      }
    }
  }
  Grid<S> y(x.rows, channels);
  for (dim_t i = 0; i < x.rows; ++i) {
    for (dim_t j = 0; j < channels; ++j) y(i, j) = silu(m(i, j)) * silu(vr(i, channels + j));
  }
  return y;
}

}  // namespace dsf::reference
