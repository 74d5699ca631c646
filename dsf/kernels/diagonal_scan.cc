#include "dsf/kernels/diagonal_scan.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "dsf/kernels/parallel_tiles.h"

namespace dsf {
namespace {

// Tasks that a scan through time should have at least, where the batch allows it.
constexpr dim_t kWantedTasks = 32;
// Columns are cut at multiples of four cache lines: narrower tasks use memory at half the speed.
constexpr dim_t kColumns = 64;
// Elements of one step that a task works on: g_{t+1} is still in the first-level cache when g_t
// needs it.
constexpr dim_t kStepElements = 2048;
// Steps of a chunk of the blocked form. A power of two: a^kChunk comes from squarings.
constexpr dim_t kChunk = 64;
constexpr dim_t kLog2Chunk = 6;
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
// rows, and where there are too few of them by columns as well.
struct StepCut {
  StepCut(dim_t batch_rows, dim_t width, dim_t wanted_tasks) : batch(batch_rows), columns(width) {
    rows = std::clamp<dim_t>(kStepElements / width, 1, std::max<dim_t>(1, batch / wanted_tasks));
    down = task_count(batch, rows);
    const dim_t wanted_across = std::max(task_count(width, kStepElements), wanted_tasks / down);
    cols = task_count(task_count(width, wanted_across), kColumns) * kColumns;
    across = task_count(width, cols);
  }

  dim_t tasks() const { return down * across; }
  Tile tile(dim_t task) const {
    const dim_t row = task / across * rows;
    const dim_t col = task % across * cols;
    return {row, std::min(rows, batch - row), col, std::min(cols, columns - col)};
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

// The blocked form's chunks of time and what they hand back: G_k = g at the first step of chunk k.
struct Chunks {
  dim_t begin(dim_t k) const { return k * kChunk; }
  dim_t end(dim_t k) const { return std::min(steps, (k + 1) * kChunk); }
  float* carry(dim_t k, dim_t b) const { return carries.row((k - 1) * batch + b); }  // k >= 1

  dim_t steps;
  dim_t count;
  dim_t batch;  // rows alive at the start of chunk 1: no later chunk has more
  MatrixF carries;
};

// G_k as if nothing came after the chunk:  G = e_{end-1};  G = e_t + a G  for t = end - 2 ...
// begin.
void reduce_chunk(const PackedLayout& layout, const float* a, const Chunks& chunks, dim_t k,
                  const Tile& tile, ConstMatrixF e) {
  dim_t rows_next = 0;
  for (dim_t t = chunks.end(k) - 1; t >= chunks.begin(k); --t) {
    const dim_t rows = alive(layout, t, tile);
    const dim_t row = layout.offset(t) + tile.row;
    for (dim_t i = 0; i < rows; ++i) {
      const float* e_t = e.row(row + i) + tile.col;
      float* carry = chunks.carry(k, tile.row + i) + tile.col;
      if (i < rows_next) {
        advance(a + tile.col, e_t, tile.cols, carry);
      } else {
        std::copy_n(e_t, tile.cols, carry);
      }
    }
    rows_next = rows;
  }
}

// G_k += a^kChunk G_{k+1}, from the last chunk backwards.
void join_chunks(const PackedLayout& layout, const float* power, const Chunks& chunks,
                 const Tile& tile) {
  for (dim_t k = chunks.count - 2; k >= 1; --k) {
    const dim_t rows = alive(layout, chunks.begin(k + 1), tile);
    for (dim_t i = tile.row; i < tile.row + rows; ++i) {
      add_scaled(power + tile.col, chunks.carry(k + 1, i) + tile.col, tile.cols,
                 chunks.carry(k, i) + tile.col);
    }
  }
}

// The scan of one chunk, begun with what the next chunk hands back.
void scan_chunk(const PackedLayout& layout, const float* a, const Chunks& chunks, dim_t k,
                const Tile& tile, MatrixF g) {
  const dim_t end = chunks.end(k);
  if (k + 1 < chunks.count) {
    const dim_t rows = alive(layout, end, tile);
    for (dim_t i = tile.row; i < tile.row + rows; ++i) {
      add_scaled(a + tile.col, chunks.carry(k + 1, i) + tile.col, tile.cols,
                 g.row(layout.offset(end - 1) + i) + tile.col);
    }
  }
  scan_tile(layout, a, tile, chunks.begin(k), end, g);
}

// a^kChunk
void chunk_power(std::span<const float> a, float* power) {
  for (std::size_t j = 0; j < a.size(); ++j) {
    float p = a[j];
    for (dim_t i = 0; i < kLog2Chunk; ++i) p *= p;
    power[j] = p;
  }
}

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
  static dim_t padded(const RealFft& fft) { return (fft.spectrum_size() + 7) / 8 * 8; }
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
  const StepCut cut(layout.batch(), g.cols, kWantedTasks);
  parallel_for(cut.tasks(), [&](dim_t task) {
    scan_tile(layout, a.data(), cut.tile(task), 0, layout.steps(), g);
  });
}

void reverse_scan_blocked(const PackedLayout& layout, std::span<const float> a, ScanWorkspace& work,
                          MatrixF g) {
  const dim_t count = task_count(layout.steps(), kChunk);
  if (g.empty() || count < 2) return reverse_scan_serial(layout, a, g);

  const dim_t batch = layout.rows_at(kChunk);
  work.carries.ensure((1 + (count - 1) * batch) * g.cols);
  float* power = work.carries.data();
  const Chunks chunks{layout.steps(), count, batch,
                      MatrixF(power + g.cols, (count - 1) * batch, g.cols)};
  chunk_power(a, power);

  const dim_t tasks_per_chunk = std::max<dim_t>(1, kWantedTasks / count);
  const StepCut handed_back(batch, g.cols, tasks_per_chunk);
  parallel_for((count - 1) * handed_back.tasks(), [&](dim_t task) {
    const dim_t k = 1 + task / handed_back.tasks();
    reduce_chunk(layout, a.data(), chunks, k, handed_back.tile(task % handed_back.tasks()), g);
  });
  const StepCut across(batch, g.cols, kWantedTasks);
  parallel_for(across.tasks(),
               [&](dim_t task) { join_chunks(layout, power, chunks, across.tile(task)); });
  const StepCut all(layout.batch(), g.cols, tasks_per_chunk);
  parallel_for(count * all.tasks(), [&](dim_t task) {
    scan_chunk(layout, a.data(), chunks, task / all.tasks(), all.tile(task % all.tasks()), g);
  });
}

void reverse_scan_fft(const PackedLayout& layout, std::span<const float> a, ScanWorkspace& work,
                      MatrixF g) {
  if (g.empty() || layout.steps() < 2) return;
  const RealFft& fft = work.transforms.for_correlation(layout.steps());
  const dim_t scratch_size = ColumnScratch::floats(fft);
  const dim_t columns_per_task = task_count(g.cols, kFftColumns);
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
    // The blocked form reads the memory once more, so it has to win by using more threads; a few
    // are enough to saturate the memory.
    constexpr dim_t kEnoughTasks = 4;
    const bool enough = g.empty() || layout.steps() < kEnoughTasks * kChunk ||
                        StepCut(layout.batch(), g.cols, kWantedTasks).tasks() >= kEnoughTasks;
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
