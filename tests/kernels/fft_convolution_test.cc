#include "dsf/kernels/fft_convolution.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "tests/support/random_matrix.h"

namespace dsf {
namespace {

using testing::normal_vector;

// 4.3 u a stage (see the tolerance of the diagonal scan's tests), log2(n) stages, times the sum of
// the moduli that meet in one output.
double transform_tolerance(dim_t n, double sum_of_moduli) {
  return 4.3 * 0.5 * FLT_EPSILON * std::log2(static_cast<double>(n)) * sum_of_moduli;
}

TEST(RealFft, AgreesWithTheDefinition) {
  for (const dim_t n : {4, 8, 64, 512}) {
    const RealFft fft(n);
    ASSERT_EQ(fft.spectrum_size(), n / 2 + 1);
    const std::vector<float> x = normal_vector(n, 1);
    std::vector<std::complex<float>> spectrum(static_cast<std::size_t>(fft.spectrum_size()));
    fft.forward(x.data(), spectrum.data());

    double moduli = 0.0;
    for (const float v : x) moduli += std::abs(static_cast<double>(v));
    for (std::size_t k = 0; k < spectrum.size(); ++k) {
      std::complex<double> expected = 0.0;
      for (std::size_t j = 0; j < x.size(); ++j) {
        const double angle =
            -2.0 * std::numbers::pi * static_cast<double>(j * k) / static_cast<double>(n);
        expected += static_cast<double>(x[j]) * std::polar(1.0, angle);
      }
      EXPECT_LT(std::abs(std::complex<double>(spectrum[k]) - expected),
                transform_tolerance(n, moduli))
          << "n=" << n << " k=" << k;
    }
  }
}

TEST(RealFft, InverseReturnsTheSignalTimesItsLength) {
  for (const dim_t n : {4, 16, 4096}) {
    const RealFft fft(n);
    const std::vector<float> x = normal_vector(n, 2);
    std::vector<std::complex<float>> spectrum(static_cast<std::size_t>(fft.spectrum_size()));
    std::vector<float> back(x.size());
    fft.forward(x.data(), spectrum.data());
    fft.inverse(spectrum.data(), back.data());
    // sum |X_k| <= n |x| by Cauchy-Schwarz and Parseval; two transforms.
    double square = 0.0;
    for (const float v : x) square += static_cast<double>(v) * static_cast<double>(v);
    const double allowed = 2.0 * transform_tolerance(n, std::sqrt(square));
    for (std::size_t j = 0; j < x.size(); ++j) {
      EXPECT_NEAR(back[j] / static_cast<float>(n), x[j], allowed) << "n=" << n << " j=" << j;
    }
  }
}

TEST(RealFftCache, PadsEnoughThatNothingWrapsAround) {
  RealFftCache cache;
  for (const dim_t samples : {1, 2, 3, 64, 65, 1000}) {
    EXPECT_GE(cache.for_correlation(samples).length(), 2 * samples - 1);
  }
}

TEST(RealFftCache, KeepsWhatItMade) {
  RealFftCache cache;
  const RealFft* first = &cache.for_correlation(1000);
  cache.for_correlation(10);
  EXPECT_EQ(&cache.for_correlation(900), first);  // 900 and 1000 both need 2048
}

}  // namespace
}  // namespace dsf
