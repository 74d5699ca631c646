#pragma once

// What the serial and the blocked form of the diagonal scan share: a step is cut into tiles, and a
// tile is walked back through time by one task.

#include <algorithm>
#include <cmath>

#include "dsf/base/packed_layout.h"
#include "dsf/base/view.h"
#include "dsf/kernels/tile.h"

namespace dsf {

/// Steps of a chunk of the blocked form: 256 KB, still in the second-level cache when the chunk is
/// read again. A power of two: a^kScanChunk comes from squarings.
inline constexpr dim_t kScanChunk = 32;

/// g_t = e_t + a g_{t+1} for n neighbours; e_t and g_t are one place.
inline void add_scaled(const float* __restrict a, const float* __restrict g_next, dim_t n,
                       float* __restrict g) {
  for (dim_t j = 0; j < n; ++j) g[j] = std::fma(a[j], g_next[j], g[j]);
}

/// A task meets its rows at a stride of a whole step, which the hardware does not foresee. Asking
/// for them two steps ahead makes the scan up to twice as fast.
inline constexpr dim_t kStepsAhead = 2;
inline void prefetch(const float* row, dim_t n) {
  constexpr dim_t kCacheLine = 16;
  for (dim_t j = 0; j < n; j += kCacheLine) __builtin_prefetch(row + j, 1);
}

/// How a step of `batch` rows and `width` columns is cut into tasks that walk through time alone:
/// by rows, and if one is too wide by columns as well.
struct StepCut {
  // Elements of one step that a task works on, if the step has so many: g_{t+1} is still in the
  // first-level cache when g_t needs it, and memory is used in pieces of 8 KB. Narrower pieces use
  // it at half the speed or less.
  static constexpr dim_t kStepElements = 2048;
  // Wide steps are cut at multiples of four cache lines.
  static constexpr dim_t kColumns = 64;

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

/// Rows of the tile that are alive at step t.
inline dim_t alive(const PackedLayout& layout, dim_t t, const Tile& tile) {
  return std::clamp<dim_t>(layout.rows_at(t) - tile.row, 0, tile.rows);
}

/// g_t += a g_{t+1} for t = end - 2 ... begin, within the tile.
inline void scan_tile(const PackedLayout& layout, const float* a, const Tile& tile, dim_t begin,
                      dim_t end, MatrixF g) {
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

}  // namespace dsf
