#pragma once

// Real Fourier transforms, and correlation by means of them.
//
//   y_t = sum_{s >= t} k_{s-t} x_s      0 <= t < L
//
// With x and k padded by zeros to n >= 2 L - 1, no product wraps around, and Y = X conj(K).

#include <complex>
#include <map>
#include <memory>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

/// Tables for transforms of n = length() real numbers, n a power of two. After construction it is
/// only read, so that all threads can share one: that is why it is built on the complex transform
/// of the backend, whose real transform keeps scratch memory inside its plan.
class RealFft {
 public:
  /// length: a power of two, at least 4.
  explicit RealFft(dim_t length);
  ~RealFft();
  RealFft(RealFft&&) noexcept;
  RealFft& operator=(RealFft&&) noexcept;

  dim_t length() const { return length_; }
  dim_t spectrum_size() const { return length_ / 2 + 1; }

  /// x [n] -> spectrum [n/2 + 1], X_k = sum_j x_j exp(-2 pi i j k / n). No overlap.
  void forward(const float* x, std::complex<float>* spectrum) const;
  /// spectrum [n/2 + 1], destroyed -> x [n], n times the inverse of forward. No overlap.
  void inverse(std::complex<float>* spectrum, float* x) const;

 private:
  struct Plans;
  dim_t length_;
  std::vector<std::complex<float>> roots_;  // exp(-2 pi i k / n), k <= n/4
  std::unique_ptr<Plans> plans_;
};

/// Keeps the tables of every length that was asked for.
class RealFftCache {
 public:
  /// The smallest power of two for correlations of signals and kernels of `samples` numbers.
  const RealFft& for_correlation(dim_t samples);

 private:
  std::map<dim_t, RealFft> by_length_;
};

/// spectrum_k *= conj(kernel_k) * scale for k < size. `scale` = 1/n undoes the factor of the
/// inverse.
void multiply_conjugate(const std::complex<float>* kernel, float scale, dim_t size,
                        std::complex<float>* spectrum);

}  // namespace dsf
