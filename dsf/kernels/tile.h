#pragma once

#include "dsf/base/dim.h"
#include "dsf/base/view.h"

namespace dsf {

/// A rectangle of a matrix.
struct Tile {
  dim_t row = 0;
  dim_t col = 0;
  dim_t rows = 0;
  dim_t cols = 0;
};

/// What of a matrix lies in the tile.
template <typename T>
constexpr MatrixView<T> block(MatrixView<T> m, const Tile& tile) {
  return m.middle_rows(tile.row, tile.rows).middle_cols(tile.col, tile.cols);
}

}  // namespace dsf
