#pragma once

// The fixed matrices of the stationary feedbacks, written out entry by entry from the numbers they
// store: g_{t-1} += g_t A.

#include <span>

#include "tests/reference/grid.h"

namespace dsf::reference {

inline double at(std::span<const float> values, dim_t i) {
  return static_cast<double>(values[static_cast<std::size_t>(i)]);
}

/// Units j and S/2 + j as one complex number, times real_j + i imaginary_j; one left over is real.
inline Grid<double> pairs_matrix(dim_t size, std::span<const float> real,
                                 std::span<const float> imaginary) {
  Grid<double> a(size, size);
  const dim_t half = size / 2;
  for (dim_t j = 0; j < half; ++j) {
    a(j, j) = at(real, j);
    a(j, half + j) = at(imaginary, j);
    a(half + j, j) = -at(imaginary, j);
    a(half + j, half + j) = at(real, j);
  }
  if (size % 2 == 1) a(size - 1, size - 1) = at(real, half);
  return a;
}

/// Row by row.
inline Grid<double> dense_matrix(dim_t size, std::span<const float> entries) {
  Grid<double> a(size, size);
  for (dim_t i = 0; i < size * size; ++i) a.values[static_cast<std::size_t>(i)] = at(entries, i);
  return a;
}

/// diag(diagonal) + in^T out.
inline Grid<double> low_rank_matrix(dim_t size, std::span<const float> diagonal,
                                    std::span<const float> in, std::span<const float> out) {
  Grid<double> a(size, size);
  const dim_t rank = static_cast<dim_t>(in.size()) / size;
  for (dim_t i = 0; i < size; ++i) {
    a(i, i) = at(diagonal, i);
    for (dim_t j = 0; j < size; ++j) {
      for (dim_t k = 0; k < rank; ++k) a(i, j) += at(in, k * size + i) * at(out, k * size + j);
    }
  }
  return a;
}

}  // namespace dsf::reference
