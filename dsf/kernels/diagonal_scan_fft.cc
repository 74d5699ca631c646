#include <algorithm>
#include <complex>

#include "dsf/kernels/diagonal_scan.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

// Columns worked on at once by the FFT form, which bounds its memory.
constexpr dim_t kFftColumns = 64;

// What one thread needs to correlate a column.
struct ColumnScratch {
  float* signal;                    // [n]
  std::complex<float>* spectrum;    // [n/2 + 1]
  std::complex<float>* a_spectrum;  // [n/2 + 1], of the kernel 1, a, a^2, ...

  static dim_t floats(const RealFft& fft) { return fft.length() + 4 * padded(fft); }
  ColumnScratch(const RealFft& fft, float* memory)
      : signal(memory),
        spectrum(reinterpret_cast<std::complex<float>*>(memory + fft.length())),
        a_spectrum(spectrum + padded(fft)) {}

 private:
  // To whole cache lines.
  static dim_t padded(const RealFft& fft) { return round_up(fft.spectrum_size(), 8); }
};

void scan_column(const PackedLayout& layout, const RealFft& fft, float a,
                 const ColumnScratch& scratch, float* g, dim_t stride) {
  const dim_t n = fft.length();
  double power = 1.0;  // in double: the error of a running product would grow with T
  for (dim_t t = 0; t < layout.steps(); ++t, power *= static_cast<double>(a)) {
    scratch.signal[t] = static_cast<float>(power);
  }
  std::fill(scratch.signal + layout.steps(), scratch.signal + n, 0.0F);
  fft.forward(scratch.signal, scratch.a_spectrum);

  for (dim_t b = 0; b < layout.batch(); ++b) {
    const dim_t length = layout.length(b);
    for (dim_t t = 0; t < length; ++t) scratch.signal[t] = g[(layout.offset(t) + b) * stride];
    std::fill(scratch.signal + length, scratch.signal + n, 0.0F);
    fft.forward(scratch.signal, scratch.spectrum);
    multiply_conjugate(scratch.a_spectrum, 1.0F / static_cast<float>(n), fft.spectrum_size(),
                       scratch.spectrum);
    fft.inverse(scratch.spectrum, scratch.signal);
    for (dim_t t = 0; t < length; ++t) g[(layout.offset(t) + b) * stride] = scratch.signal[t];
  }
}

}  // namespace

dim_t fft_scan_numbers(dim_t steps, dim_t columns) {
  RealFftCache transforms;
  const dim_t tasks = task_count(columns, ceil_div(columns, kFftColumns));
  return tasks * ColumnScratch::floats(transforms.for_correlation(steps));
}

void reverse_scan_fft(const PackedLayout& layout, std::span<const float> a, ScanWorkspace& work,
                      MatrixF g) {
  if (g.empty() || layout.steps() < 2) return;
  const RealFft& fft = work.transforms.for_correlation(layout.steps());
  const dim_t scratch_size = ColumnScratch::floats(fft);
  const dim_t columns_per_task = ceil_div(g.cols, kFftColumns);
  work.spectra.ensure(task_count(g.cols, columns_per_task) * scratch_size);
  parallel_ranges(g.cols, columns_per_task, [&](dim_t begin, dim_t end) {
    const ColumnScratch scratch(fft, work.spectra.data() + begin / columns_per_task * scratch_size);
    for (dim_t j = begin; j < end; ++j) {
      const float a_j = a[static_cast<std::size_t>(j)];
      if (a_j != 0.0F) scan_column(layout, fft, a_j, scratch, g.data + j, g.stride);
    }
  });
}

}  // namespace dsf
