#pragma once

// Rows copied, cleared and added on the calling thread. What is spread over the threads is in
// elementwise.h.

#include <algorithm>

#include "dsf/base/view.h"

namespace dsf {

/// to = from, of equal shape.
inline void copy_rows(ConstMatrixF from, MatrixF to) {
  for (dim_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to.row(i));
}

inline void zero_rows(MatrixF m) {
  for (dim_t i = 0; i < m.rows; ++i) std::fill_n(m.row(i), m.cols, 0.0F);
}

/// y_j += x_j for j < n; x and y do not overlap.
inline void add_row(const float* __restrict x, dim_t n, float* __restrict y) {
  for (dim_t j = 0; j < n; ++j) y[j] += x[j];
}

/// to += from, of equal shape; they do not overlap.
inline void add_rows(ConstMatrixF from, MatrixF to) {
  for (dim_t i = 0; i < from.rows; ++i) add_row(from.row(i), from.cols, to.row(i));
}

}  // namespace dsf
