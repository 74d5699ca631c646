#pragma once

#include <type_traits>

#include "dsf/base/dim.h"

namespace dsf {

/// A row-major matrix that somebody else owns. Row i starts at data + i * stride; stride >= cols.
/// Views are values: pass them by value; a view of const elements is `MatrixView<const T>`.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  dim_t rows = 0;
  dim_t cols = 0;
  dim_t stride = 0;

  constexpr MatrixView() = default;
  constexpr MatrixView(T* d, dim_t r, dim_t c, dim_t s) : data(d), rows(r), cols(c), stride(s) {}
  constexpr MatrixView(T* d, dim_t r, dim_t c) : MatrixView(d, r, c, c) {}
  /// A mutable view reads as a const one.
  template <typename U>
  requires(std::is_same_v<const U, T>) constexpr MatrixView(const MatrixView<U>& o)
      : MatrixView(o.data, o.rows, o.cols, o.stride) {}

  constexpr T* row(dim_t i) const { return data + i * stride; }
  constexpr T& operator()(dim_t i, dim_t j) const { return data[i * stride + j]; }
  constexpr bool empty() const { return rows == 0 || cols == 0; }
  /// True if the rows follow each other without a gap.
  constexpr bool dense() const { return stride == cols; }

  constexpr MatrixView middle_rows(dim_t begin, dim_t count) const {
    return {data + begin * stride, count, cols, stride};
  }
  constexpr MatrixView middle_cols(dim_t begin, dim_t count) const {
    return {data + begin, rows, count, stride};
  }
};

using MatrixF = MatrixView<float>;
using ConstMatrixF = MatrixView<const float>;

}  // namespace dsf
