#pragma once

#include <algorithm>

#include "dsf/kernels/parallel.h"
#include "dsf/kernels/tile.h"

namespace dsf {

/// Elements of an elementwise task: long enough to hide the hand-out of the task (about 1 us),
/// short enough for the tasks of a usual activation matrix to keep many threads busy.
inline constexpr dim_t kTileElements = 16384;

/// Cuts a [rows, cols] matrix by its shape into tiles of about kTileElements, whole rows if they
/// are short enough, and calls body(tile) for each in parallel.
template <typename Body>
void parallel_tiles(dim_t rows, dim_t cols, Body&& body) {
  if (rows == 0 || cols == 0) return;
  const dim_t tile_cols = std::min(cols, kTileElements);
  const dim_t tile_rows = std::max<dim_t>(1, kTileElements / tile_cols);
  const dim_t across = task_count(cols, tile_cols);
  parallel_for(task_count(rows, tile_rows) * across, [&](dim_t task) {
    const dim_t row = task / across * tile_rows;
    const dim_t col = task % across * tile_cols;
    body(Tile{row, col, std::min(tile_rows, rows - row), std::min(tile_cols, cols - col)});
  });
}

}  // namespace dsf
