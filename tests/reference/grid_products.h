#pragma once

#include "tests/reference/grid.h"

namespace dsf::reference {

template <typename T>
Grid<T> transposed(const Grid<T>& m) {
  Grid<T> t(m.cols, m.rows);
  for (dim_t i = 0; i < m.rows; ++i) {
    for (dim_t j = 0; j < m.cols; ++j) t(j, i) = m(i, j);
  }
  return t;
}

/// x M^T
template <typename T>
Grid<T> apply_map(const Grid<double>& map, const Grid<T>& x) {
  Grid<T> y(x.rows, map.rows);
  for (dim_t i = 0; i < x.rows; ++i) {
    for (dim_t j = 0; j < map.rows; ++j) {
      for (dim_t k = 0; k < map.cols; ++k) y(i, j) += map(j, k) * x(i, k);
    }
  }
  return y;
}

}  // namespace dsf::reference
