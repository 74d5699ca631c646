#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "dsf/kernels/diagonal_scan.h"
#include "dsf/kernels/diagonal_scan_tile.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

constexpr dim_t kLog2Chunk = 5;
static_assert(kScanChunk == dim_t{1} << kLog2Chunk);

// add_scaled with g_{t+1} and g_t in one place.
void advance(const float* __restrict a, const float* __restrict e, dim_t n, float* __restrict g) {
  for (dim_t j = 0; j < n; ++j) g[j] = std::fma(a[j], g[j], e[j]);
}

// a^kScanChunk
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
//   joined    as soon as the chunk after it has handed its own over:  G_k += a^kScanChunk G_{k+1}
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
        count_(ceil_div(layout.steps(), kScanChunk)),
        batch_(layout.rows_at(kScanChunk)) {
    work.carries.ensure(blocked_scan_numbers(layout.steps(), batch_, g.cols));
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
  dim_t begin(dim_t k) const { return k * kScanChunk; }
  dim_t end(dim_t k) const { return std::min(layout_.steps(), (k + 1) * kScanChunk); }
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
  float* power_ = nullptr;  // a^kScanChunk
  MatrixF carries_;
  dim_t* handed_over_ = nullptr;
};

}  // namespace

// a^kScanChunk, and g at the start of every chunk but the first.
dim_t blocked_scan_numbers(dim_t steps, dim_t batch, dim_t columns) {
  if (steps <= kScanChunk) return 0;
  return (1 + (ceil_div(steps, kScanChunk) - 1) * batch) * columns;
}

void reverse_scan_blocked(const PackedLayout& layout, std::span<const float> a, ScanWorkspace& work,
                          MatrixF g) {
  if (g.empty() || layout.steps() <= kScanChunk) return reverse_scan_serial(layout, a, g);
  ChainOfChunks(layout, a, work, g).run();
}

}  // namespace dsf
