#pragma once

#include <cmath>
#include <vector>

#include "dsf/base/dim.h"
#include "dsf/base/rng.h"
#include "dsf/base/view.h"

namespace dsf::reference {

/// A dense matrix that owns its elements: slow, obvious, for any scalar.
template <typename T>
struct Grid {
  dim_t rows = 0;
  dim_t cols = 0;
  std::vector<T> values;

  Grid() = default;
  Grid(dim_t r, dim_t c) : rows(r), cols(c), values(static_cast<std::size_t>(r * c)) {}
  /// Of another scalar type.
  template <typename U>
  explicit Grid(const Grid<U>& other) : Grid(other.rows, other.cols) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(other.values[i]);
  }

  T& operator()(dim_t i, dim_t j) { return values[static_cast<std::size_t>(i * cols + j)]; }
  const T& operator()(dim_t i, dim_t j) const {
    return values[static_cast<std::size_t>(i * cols + j)];
  }
  std::vector<T> row(dim_t i) const {
    return {values.begin() + i * cols, values.begin() + (i + 1) * cols};
  }
  void set_row(dim_t i, const std::vector<T>& row) {
    for (dim_t j = 0; j < cols; ++j) (*this)(i, j) = row[static_cast<std::size_t>(j)];
  }
  MatrixView<T> view() { return {values.data(), rows, cols}; }
  MatrixView<const T> view() const { return {values.data(), rows, cols}; }
};

/// Uniform in +-half_width, rounded to float so that fast and slow code start from the same
/// numbers.
inline Grid<double> random_grid(dim_t rows, dim_t cols, double half_width, Rng& rng) {
  Grid<double> grid(rows, cols);
  for (double& value : grid.values) {
    value = static_cast<double>(static_cast<float>(rng.uniform(-half_width, half_width)));
  }
  return grid;
}

inline double norm(const Grid<double>& m) {
  double sum = 0.0;
  for (const double value : m.values) sum += value * value;
  return std::sqrt(sum);
}

/// |actual - expected| / |expected|; absolute if the expected norm is zero.
inline double relative_error(const Grid<double>& actual, const Grid<double>& expected) {
  Grid<double> difference = actual;
  for (std::size_t i = 0; i < difference.values.size(); ++i) {
    difference.values[i] -= expected.values[i];
  }
  const double scale = norm(expected);
  return norm(difference) / (scale > 0.0 ? scale : 1.0);
}

}  // namespace dsf::reference
