#include "dsf/kernels/diagonal_scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <thread>

#include "dsf/kernels/parallel.h"
#include "dsf/kernels/tile.h"

namespace dsf {
namespace {

// Elements of one step that a task works on, where the step has so many: g_{t+1} is still in the
// first-level cache when g_t needs it, and memory is used in pieces of 8 KB. Narrower pieces use it
// at half the speed or less.
constexpr dim_t kStepElements = 2048;
// Wide steps are cut at multiples of four cache lines.
constexpr dim_t kColumns = 64;
// Steps of a chunk of the blocked form: 256 KB, still in the second-level cache when the chunk is
// read again. A power of two: a^kChunk comes from squarings.
constexpr dim_t kChunk = 32;
constexpr dim_t kLog2Chunk = 5;
static_assert(kChunk == dim_t{1} << kLog2Chunk);
// Columns worked on at once by the FFT form, which bounds its memory.
constexpr dim_t kFftColumns = 64;

// g_t = e_t + a g_{t+1} for n neighbours; e_t and g_t are one place.
void add_scaled(const float* __restrict a, const float* __restrict g_next, dim_t n,
                float* __restrict g) {
  for (dim_t j = 0; j < n; ++j) g[j] = std::fma(a[j], g_next[j], g[j]);
}

// The same with g_{t+1} and g_t in one place.
void advance(const float* __restrict a, const float* __restrict e, dim_t n, float* __restrict g) {
  for (dim_t j = 0; j < n; ++j) g[j] = std::fma(a[j], g[j], e[j]);
}

// A task meets its rows at a stride of a whole step, which the hardware does not foresee. Asking
// for them two steps ahead makes the scan up to twice as fast.
constexpr dim_t kStepsAhead = 2;
void prefetch(const float* row, dim_t n) {
  constexpr dim_t kCacheLine = 16;
  for (dim_t j = 0; j < n; j += kCacheLine) __builtin_prefetch(row + j, 1);
}

// How a step of `batch` rows and `width` columns is cut into tasks that walk through time alone: by
// rows, and where one is too wide by columns as well.
struct StepCut {
  StepCut(dim_t batch_rows, dim_t width) : batch(batch_rows), columns(width) {
    rows = std::clamp<dim_t>(kStepElements / width, 1, batch);
    down = ceil_div(batch, rows);
    cols = round_up(ceil_div(width, ceil_div(width, kStepElements)), kColumns);
    across = ceil_div(width, cols);
  }

  dim_t tasks() const { return down * across; }
  Tile tile(dim_t task) const {
    const dim_t row = task / across * rows;
    const dim_t col = task % across * cols;
    return {row, col, std::min(rows, batch - row), std::min(cols, columns - col)};
  }

  dim_t batch;
  dim_t columns;
  dim_t rows = 0;    // of a tile
  dim_t cols = 0;    // of a tile
  dim_t down = 0;    // tiles
  dim_t across = 0;  // tiles
};

// Rows of the tile that are alive at step t.
dim_t alive(const PackedLayout& layout, dim_t t, const Tile& tile) {
  return std::clamp<dim_t>(layout.rows_at(t) - tile.row, 0, tile.rows);
}

// g_t += a g_{t+1} for t = end - 2 ... begin, within the tile.
void scan_tile(const PackedLayout& layout, const float* a, const Tile& tile, dim_t begin, dim_t end,
               MatrixF g) {
  for (dim_t t = end - 2; t >= begin; --t) {
    const dim_t rows = alive(layout, t + 1, tile);
    const dim_t row = layout.offset(t) + tile.row;
    const dim_t next = layout.offset(t + 1) + tile.row;
    const dim_t ahead = layout.offset(std::max(begin, t - kStepsAhead)) + tile.row;
    for (dim_t i = 0; i < rows; ++i) {
      prefetch(g.row(ahead + i) + tile.col, tile.cols);
      add_scaled(a + tile.col, g.row(next + i) + tile.col, tile.cols, g.row(row + i) + tile.col);
    }
  }
}

// a^kChunk
void chunk_power(std::span<const float> a, float* power) {
  for (std::size_t j = 0; j < a.size(); ++j) {
    float p = a[j];
    for (dim_t i = 0; i < kLog2Chunk; ++i) p *= p;
    power[j] = p;
  }
}

// The blocked form: chunks of time in parallel, the last one first, each
//
//   reduced   what the chunk hands to the one before it if nothing came after it; this reads the
//             chunk from memory
//   joined    as soon as the chunk after it has handed its own over:  G_k += a^kChunk G_{k+1}
//   scanned   with G_{k+1}; the chunk is still in the cache
//
// so only the joins, short as they are, happen one after another.
class ChainOfChunks {
 public:
  ChainOfChunks(const PackedLayout& layout, std::span<const float> a, ScanWorkspace& work,
                MatrixF g)
      : layout_(layout),
        a_(a.data()),
        g_(g),
        cut_(layout.batch(), g.cols),
        count_(ceil_div(layout.steps(), kChunk)),
        batch_(layout.rows_at(kChunk)) {
    work.carries.ensure((1 + (count_ - 1) * batch_) * g.cols);
    power_ = work.carries.data();
    carries_ = MatrixF(power_ + g.cols, (count_ - 1) * batch_, g.cols);
    chunk_power(a, power_);
    work.handed_over.ensure(cut_.tasks());
    handed_over_ = work.handed_over.data();
    std::fill_n(handed_over_, cut_.tasks(), 0);
  }

  // Tasks begin in this order, so the one that a task waits for has begun before it.
  void run() {
    parallel_for(count_ * cut_.tasks(), [&](dim_t task) {
      run_chunk(count_ - 1 - task / cut_.tasks(), task % cut_.tasks());
    });
  }

 private:
  dim_t begin(dim_t k) const { return k * kChunk; }
  dim_t end(dim_t k) const { return std::min(layout_.steps(), (k + 1) * kChunk); }
  // G_k, g at the first step of chunk k >= 1; no later chunk has more rows than chunk 1.
  float* carry(dim_t k, dim_t b) const { return carries_.row((k - 1) * batch_ + b); }

  void run_chunk(dim_t k, dim_t place) {
    const Tile tile = cut_.tile(place);
    const bool last = k + 1 == count_;
    if (k > 0) reduce(k, tile);
    if (!last) wait_until_handed_over(place, count_ - 1 - k);
    if (k > 0 && !last) join(k, tile);
    if (k > 0) hand_over(place);
    if (!last) take_over(k, tile);
    scan_tile(layout_, a_, tile, begin(k), end(k), g_);
  }

  //   G = e_{end-1};  G = e_t + a G  for t = end - 2 ... begin
  void reduce(dim_t k, const Tile& tile) const {
    dim_t rows_next = 0;
    for (dim_t t = end(k) - 1; t >= begin(k); --t) {
      const dim_t rows = alive(layout_, t, tile);
      const dim_t row = layout_.offset(t) + tile.row;
      const dim_t ahead = layout_.offset(std::max(begin(k), t - kStepsAhead)) + tile.row;
      for (dim_t i = 0; i < rows; ++i) {
        prefetch(g_.row(ahead + i) + tile.col, tile.cols);
        const float* e_t = g_.row(row + i) + tile.col;
        float* handed = carry(k, tile.row + i) + tile.col;
        if (i < rows_next) {
          advance(a_ + tile.col, e_t, tile.cols, handed);
        } else {
          std::copy_n(e_t, tile.cols, handed);
        }
      }
      rows_next = rows;
    }
  }

  void join(dim_t k, const Tile& tile) const {
    const dim_t rows = alive(layout_, begin(k + 1), tile);
    for (dim_t i = tile.row; i < tile.row + rows; ++i) {
      add_scaled(power_ + tile.col, carry(k + 1, i) + tile.col, tile.cols, carry(k, i) + tile.col);
    }
  }

  // The step at the end of chunk k gets what chunk k + 1 hands back.
  void take_over(dim_t k, const Tile& tile) const {
    const dim_t rows = alive(layout_, end(k), tile);
    for (dim_t i = tile.row; i < tile.row + rows; ++i) {
      add_scaled(a_ + tile.col, carry(k + 1, i) + tile.col, tile.cols,
                 g_.row(layout_.offset(end(k) - 1) + i) + tile.col);
    }
  }

  // How many chunks of a tile are joined, counted from the end of time.
  void hand_over(dim_t place) {
    std::atomic_ref<dim_t>(handed_over_[place]).fetch_add(1, std::memory_order_release);
  }
  void wait_until_handed_over(dim_t place, dim_t chunks) {
    const std::atomic_ref<dim_t> handed(handed_over_[place]);
    while (handed.load(std::memory_order_acquire) < chunks) std::this_thread::yield();
  }

  const PackedLayout& layout_;
  const float* a_;
  MatrixF g_;
  StepCut cut_;
  dim_t count_;
  dim_t batch_;
  float* power_ = nullptr;  // a^kChunk
  MatrixF carries_;
  dim_t* handed_over_ = nullptr;
};

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

void reverse_scan_serial(const PackedLayout& layout, std::span<const float> a, MatrixF g) {
  if (g.empty()) return;
  const StepCut cut(layout.batch(), g.cols);
  parallel_for(cut.tasks(), [&](dim_t task) {
    scan_tile(layout, a.data(), cut.tile(task), 0, layout.steps(), g);
  });
}

void reverse_scan_blocked(const PackedLayout& layout, std::span<const float> a, ScanWorkspace& work,
                          MatrixF g) {
  if (g.empty() || layout.steps() <= kChunk) return reverse_scan_serial(layout, a, g);
  ChainOfChunks(layout, a, work, g).run();
}

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

void reverse_scan(ScanForm form, const PackedLayout& layout, std::span<const float> a,
                  ScanWorkspace& work, MatrixF g) {
  if (form == ScanForm::automatic) {
    // The blocked form computes nearly twice as much, so it has to win by using more threads; a few
    // are enough to saturate the memory.
    constexpr dim_t kSaturatingTasks = 8;
    const bool enough = g.empty() || layout.steps() < kSaturatingTasks * kChunk ||
                        StepCut(layout.batch(), g.cols).tasks() >= kSaturatingTasks;
    form = enough ? ScanForm::serial : ScanForm::blocked;
  }
  switch (form) {
    case ScanForm::blocked:
      return reverse_scan_blocked(layout, a, work, g);
    case ScanForm::fft:
      return reverse_scan_fft(layout, a, work, g);
    default:
      return reverse_scan_serial(layout, a, g);
  }
}

}  // namespace dsf
