#pragma once

// Layer normalisation, softmax and GELU of one row, in double.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace dsf::testing {

using Row = std::vector<double>;

struct ReferenceLayerNorm {
  double mean = 0.0;
  double rstd = 0.0;
  Row x_hat;
};

inline ReferenceLayerNorm reference_normalise(const Row& x, double epsilon) {
  ReferenceLayerNorm result;
  const auto n = static_cast<double>(x.size());
  for (const double v : x) result.mean += v / n;
  double variance = 0.0;
  for (const double v : x) variance += (v - result.mean) * (v - result.mean) / n;
  result.rstd = 1.0 / std::sqrt(variance + epsilon);
  for (const double v : x) result.x_hat.push_back((v - result.mean) * result.rstd);
  return result;
}

/// sum_j dy_j gamma_j x^_j: the scalar whose derivative by x is layer normalisation's dx.
inline double reference_layer_norm_dot(const Row& x, const Row& gamma, const Row& dy,
                                       double epsilon) {
  const ReferenceLayerNorm norm = reference_normalise(x, epsilon);
  double dot = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) dot += dy[j] * gamma[j] * norm.x_hat[j];
  return dot;
}

inline double reference_log_sum_exp(const Row& z) {
  const double max = *std::max_element(z.begin(), z.end());
  double sum = 0.0;
  for (const double v : z) sum += std::exp(v - max);
  return max + std::log(sum);
}

inline Row reference_softmax(const Row& z) {
  const double normaliser = reference_log_sum_exp(z);
  Row p;
  for (const double v : z) p.push_back(std::exp(v - normaliser));
  return p;
}

/// The equation as GPT-2 writes it, with the hyperbolic tangent.
inline double reference_gelu(double x) {
  const double u = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(u));
}

}  // namespace dsf::testing
