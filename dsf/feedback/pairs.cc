#include "dsf/feedback/pairs.h"

#include <cmath>
#include <numbers>

namespace dsf {
namespace {

constexpr dim_t kModes = 32;
constexpr double kShortestStep = 0.001;
constexpr double kLongestStep = 0.1;

}  // namespace

PairsFeedback::PairsFeedback(dim_t state_size, Rng rng)
    : real_((state_size + 1) / 2), imaginary_(state_size / 2) {
  for (dim_t j = 0; j < real_.size(); ++j) {
    const double step = std::exp(rng.uniform(std::log(kShortestStep), std::log(kLongestStep)));
    const double modulus = std::exp(-0.5 * step);
    if (j >= imaginary_.size()) {  // the unit that is left over
      real_[j] = static_cast<float>(modulus);
      continue;
    }
    const double angle = std::numbers::pi * static_cast<double>(j % kModes) * step;
    real_[j] = static_cast<float>(modulus * std::cos(angle));
    imaginary_[j] = static_cast<float>(modulus * std::sin(angle));
  }
}

std::vector<NamedBuffer> PairsFeedback::buffers() {
  return {{"real", real_.span()}, {"imaginary", imaginary_.span()}};
}

// (x + i y) (c + i s):  x' = c x - s y,  y' = s x + c y
void PairsFeedback::add_product(ConstMatrixF g, MatrixF g_previous) const {
  const dim_t half = imaginary_.size();
  const float* __restrict c = real_.data();
  const float* __restrict s = imaginary_.data();
  for (dim_t i = 0; i < g.rows; ++i) {
    const float* __restrict x = g.row(i);
    const float* __restrict y = g.row(i) + half;
    float* __restrict to_x = g_previous.row(i);
    float* __restrict to_y = g_previous.row(i) + half;
    for (dim_t j = 0; j < half; ++j) {
      to_x[j] += c[j] * x[j] - s[j] * y[j];
      to_y[j] += s[j] * x[j] + c[j] * y[j];
    }
    for (dim_t j = 2 * half; j < g.cols; ++j) to_x[j] += c[half] * x[j];
  }
}

}  // namespace dsf
