#pragma once

// How a product is cut into tasks: by its shape alone, or in a way that does not change the order of
// any sum, so that the bits of the result do not depend on the number of threads.

#include <algorithm>
#include <array>

#include "dsf/kernels/tile.h"

namespace dsf {

/// C [m, n] covered by tiles of at most `rows` x `cols`, numbered row by row.
struct TileGrid {
  dim_t m = 0;
  dim_t n = 0;
  dim_t rows = 1;
  dim_t cols = 1;

  constexpr dim_t across() const { return ceil_div(n, cols); }
  constexpr dim_t count() const { return ceil_div(m, rows) * across(); }
  constexpr Tile operator[](dim_t task) const {
    const dim_t row = task / across() * rows;
    const dim_t col = task % across() * cols;
    return {row, col, std::min(rows, m - row), std::min(cols, n - col)};
  }
  /// The same tiles numbered column by column: neighbours share columns of B.
  constexpr Tile by_columns(dim_t task) const {
    const dim_t down = ceil_div(m, rows);
    return (*this)[task % down * across() + task / down];
  }
};

/// Enough tasks for the threads of a large machine.
inline constexpr dim_t kEnoughTasks = 32;

/// A tile worth fewer multiplications costs less than the tens of microseconds that it may take to
/// wake a thread for it.
inline constexpr dim_t kLeastWork = dim_t{1} << 20U;

/// The first of the sizes (largest first) that gives `enough` tiles, but none whose tiles would be
/// worth less than kLeastWork. With few rows it takes longer to read B than to multiply by it: a
/// tile counts as kRowsOfReading rows at least.
template <std::size_t kCount>
constexpr TileGrid choose_tiles(dim_t m, dim_t n, dim_t k, dim_t enough,
                                const std::array<std::array<dim_t, 2>, kCount>& sizes) {
  constexpr dim_t kRowsOfReading = 8;
  TileGrid grid{m, n, std::max<dim_t>(m, 1), std::max<dim_t>(n, 1)};
  for (const auto& [rows, cols] : sizes) {
    const dim_t work = std::max(std::min(m, rows), kRowsOfReading) * std::min(n, cols) * k;
    if (work < kLeastWork) {  // narrow and shallow: taller tiles, if there is none yet
      const dim_t row_work = std::max<dim_t>(1, std::min(n, cols) * k);
      const dim_t tall = round_up(ceil_div(kLeastWork, row_work), rows);
      if (grid.rows >= m && tall < m) grid = {m, n, tall, cols};
      break;
    }
    grid = {m, n, rows, cols};
    if (grid.count() >= enough) break;
  }
  return grid;
}

/// Columns of the panels in which weights are packed: a panel of 512 rows stays in the second-level
/// cache.
inline constexpr dim_t kPanelCols = 128;

/// Tiles for A times packed panels, which is fast for any number of rows. The panels are dealt out
/// evenly: with two tiles side by side, the wider one decides how long a step with few rows takes.
constexpr TileGrid choose_panel_tiles(dim_t m, dim_t n, dim_t k) {
  TileGrid grid = choose_tiles<4>(
      m, n, k, kEnoughTasks,
      {{{128, 4 * kPanelCols}, {128, 2 * kPanelCols}, {64, 2 * kPanelCols}, {64, kPanelCols}}});
  const dim_t panels = ceil_div(n, kPanelCols);
  const dim_t across = std::max<dim_t>(grid.across(), 1);
  grid.cols = std::max<dim_t>(ceil_div(panels, across), 1) * kPanelCols;
  return grid;
}

/// The inner dimension of a product in parts that are summed afterwards, in order: weight gradients
/// are small and deep, and have too few tiles.
struct DepthParts {
  static constexpr dim_t kMost = 8;

  dim_t depth = 0;  ///< of a part; the last one may be less deep
  dim_t count = 1;
};

constexpr DepthParts cut_depth(dim_t k, dim_t wanted_parts) {
  constexpr dim_t kLeastDepth = 1024;
  const dim_t most = std::clamp<dim_t>(k / kLeastDepth, 1, DepthParts::kMost);
  const dim_t depth = ceil_div(k, std::min(most, wanted_parts));
  return {depth, ceil_div(k, depth)};
}

/// As many parts as give a large machine enough tasks, if C is too small for enough tiles. They decide
/// the order of a sum, so they follow from the shape alone.
constexpr DepthParts choose_depth_parts(dim_t m, dim_t n, dim_t k) {
  const dim_t most_parts = cut_depth(k, DepthParts::kMost).count;
  const TileGrid tiles = choose_tiles<3>(m, n, k, ceil_div(kEnoughTasks, most_parts),
                                         {{{256, 512}, {256, 256}, {128, 256}}});
  return cut_depth(k, ceil_div(kEnoughTasks, tiles.count()));
}

/// Tiles, at least `wanted` if the product is large enough, of kernels that take the terms of a sum in
/// the same order in whatever tile it is. So this cut may follow the number of threads: tiles are as
/// large as can be, because what is read or packed for one meets all of it.
constexpr TileGrid choose_large_tiles(dim_t m, dim_t n, dim_t k, dim_t most_rows, dim_t wanted) {
  constexpr dim_t kLeastSide = 128;
  constexpr dim_t kMostCols = 4 * kPanelCols;
  const dim_t even_rows = ceil_div(m, std::max<dim_t>(ceil_div(m, most_rows), 1));
  TileGrid grid{m, n, std::max(round_up(even_rows, kLeastSide), kLeastSide), kMostCols};
  while (grid.count() < wanted) {
    dim_t& side = grid.rows > kLeastSide ? grid.rows : grid.cols;
    const dim_t half = round_up(side / 2, kLeastSide);
    const dim_t work = std::min(grid.rows, m) * std::min(grid.cols, n) * k;
    if (half == side || work / 2 < kLeastWork) break;
    side = half;
  }
  return grid;
}

/// Tiles of C, each of them in parts of the depth.
struct ProductGrid {
  TileGrid tiles;
  DepthParts parts;

  constexpr dim_t tasks() const { return tiles.count() * parts.count; }
};

/// For operands that are packed tile by tile.
constexpr ProductGrid choose_packed_grid(dim_t m, dim_t n, dim_t k, dim_t wanted) {
  constexpr dim_t kMostRows = 1024;
  const DepthParts parts = choose_depth_parts(m, n, k);
  return {choose_large_tiles(m, n, parts.depth, kMostRows, ceil_div(wanted, parts.count)), parts};
}

}  // namespace dsf
