#include "dsf/kernels/fft_convolution.h"

#include <kiss_fft.h>

#include <bit>
#include <cmath>
#include <new>
#include <numbers>

namespace dsf {
namespace {

using Complex = std::complex<float>;

struct FreePlan {
  void operator()(kiss_fft_cfg plan) const { kiss_fft_free(plan); }
};
using Plan = std::unique_ptr<std::remove_pointer_t<kiss_fft_cfg>, FreePlan>;

Plan make_plan(dim_t length, bool inverse) {
  Plan plan(kiss_fft_alloc(static_cast<int>(length), inverse ? 1 : 0, nullptr, nullptr));
  if (plan == nullptr) throw std::bad_alloc();
  return plan;
}

// Both are two floats side by side; the standard promises it for std::complex.
const kiss_fft_cpx* as_kiss(const void* x) { return static_cast<const kiss_fft_cpx*>(x); }
kiss_fft_cpx* as_kiss(void* x) { return static_cast<kiss_fft_cpx*>(x); }

// By hand: operator* of std::complex looks for infinities.
Complex multiply(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Complex times_i(Complex a) { return {-a.imag(), a.real()}; }

}  // namespace

struct RealFft::Plans {
  Plan forward;
  Plan inverse;
};

RealFft::RealFft(dim_t length) : length_(length), plans_(std::make_unique<Plans>()) {
  plans_->forward = make_plan(length / 2, false);
  plans_->inverse = make_plan(length / 2, true);
  for (dim_t k = 0; k <= length / 4; ++k) {
    const double angle =
        -2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    roots_.emplace_back(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
  }
}

RealFft::~RealFft() = default;
RealFft::RealFft(RealFft&&) noexcept = default;
RealFft& RealFft::operator=(RealFft&&) noexcept = default;

// The even and odd samples are the two parts of one complex signal z of length m = n/2. From its
// transform Z (with Z_m = Z_0), and w = exp(-2 pi i / n):
//   E_k = (Z_k + conj Z_{m-k}) / 2      O_k = (Z_k - conj Z_{m-k}) / 2i
//   X_k = E_k + w^k O_k                 X_{m-k} = conj(E_k - w^k O_k)
void RealFft::forward(const float* x, Complex* spectrum) const {
  const dim_t m = length_ / 2;
  kiss_fft(plans_->forward.get(), as_kiss(x), as_kiss(spectrum));
  spectrum[m] = spectrum[0];
  for (dim_t k = 0; k <= m / 2; ++k) {
    const Complex z = spectrum[k];
    const Complex mirror = std::conj(spectrum[m - k]);
    const Complex even = 0.5F * (z + mirror);
    const Complex odd = -0.5F * times_i(z - mirror);
    const Complex turned = multiply(roots_[static_cast<std::size_t>(k)], odd);
    spectrum[k] = even + turned;
    spectrum[m - k] = std::conj(even - turned);
  }
}

// The same backwards, twice as large, which makes the factor n of m:
//   2E_k = X_k + conj X_{m-k}           2O_k = (X_k - conj X_{m-k}) w^-k
//   2Z_k = 2E_k + i 2O_k                2Z_{m-k} = conj(2E_k) + i conj(2O_k)
void RealFft::inverse(Complex* spectrum, float* x) const {
  const dim_t m = length_ / 2;
  for (dim_t k = 0; k <= m / 2; ++k) {
    const Complex upper = spectrum[k];
    const Complex mirror = std::conj(spectrum[m - k]);
    const Complex even = upper + mirror;
    const Complex odd = multiply(std::conj(roots_[static_cast<std::size_t>(k)]), upper - mirror);
    spectrum[k] = even + times_i(odd);
    spectrum[m - k] = std::conj(even) + times_i(std::conj(odd));
  }
  kiss_fft(plans_->inverse.get(), as_kiss(spectrum), as_kiss(x));
}

const RealFft& RealFftCache::for_correlation(dim_t samples) {
  constexpr dim_t kShortest = 4;
  const dim_t needed = std::max(kShortest, 2 * samples - 1);
  const auto length = static_cast<dim_t>(std::bit_ceil(static_cast<std::uint64_t>(needed)));
  return by_length_.try_emplace(length, length).first->second;
}

void multiply_conjugate(const Complex* kernel, float scale, dim_t size, Complex* spectrum) {
  for (dim_t k = 0; k < size; ++k) {
    spectrum[k] = scale * multiply(spectrum[k], std::conj(kernel[k]));
  }
}

}  // namespace dsf
