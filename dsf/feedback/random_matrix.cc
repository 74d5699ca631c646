#include "dsf/feedback/random_matrix.h"

#include <cmath>
#include <utility>
#include <vector>

#include "dsf/kernels/gemm.h"

namespace dsf {
namespace {

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// y = x A, or x A^T.
std::vector<double> times(const std::vector<double>& x, ConstMatrixF a, Op op) {
  std::vector<double> y(x.size());
  for (dim_t i = 0; i < a.rows; ++i) {
    for (dim_t j = 0; j < a.cols; ++j) {
      const auto from = static_cast<std::size_t>(op == Op::none ? i : j);
      const auto to = static_cast<std::size_t>(op == Op::none ? j : i);
      y[to] += x[from] * static_cast<double>(a(i, j));
    }
  }
  return y;
}

// The norm of A, by power iteration on A A^T: a little too small.
double norm_of(ConstMatrixF a) {
  constexpr int kRounds = 100;
  std::vector<double> x(static_cast<std::size_t>(a.rows), 1.0);
  double norm = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    x = times(times(x, a, Op::none), a, Op::transpose);
    norm = std::sqrt(dot(x, x));
    for (double& value : x) value /= norm;
  }
  return std::sqrt(norm);
}

}  // namespace

void draw_orthonormal(Rng& rng, MatrixF columns) {
  std::vector<std::vector<double>> done;
  for (dim_t j = 0; j < columns.cols; ++j) {
    std::vector<double> column(static_cast<std::size_t>(columns.rows));
    for (double& value : column) value = rng.normal();
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::vector<double>& other : done) {
        const double along = dot(column, other);
        for (std::size_t i = 0; i < column.size(); ++i) column[i] -= along * other[i];
      }
    }
    const double norm = std::sqrt(dot(column, column));
    for (double& value : column) value /= norm;
    for (dim_t i = 0; i < columns.rows; ++i) {
      columns(i, j) = static_cast<float>(column[static_cast<std::size_t>(i)]);
    }
    done.push_back(std::move(column));
  }
}

Matrix draw_gaussian_matrix(dim_t size, Rng rng) {
  Matrix a(size, size);
  for (dim_t i = 0; i < size; ++i) {
    for (dim_t j = 0; j < size; ++j) a.view()(i, j) = static_cast<float>(rng.normal());
  }
  constexpr double kRoom = 1.01;  // for what power iteration has not found
  const auto scale = static_cast<float>(1.0 / (kRoom * norm_of(a)));
  for (dim_t i = 0; i < size; ++i) {
    for (dim_t j = 0; j < size; ++j) a.view()(i, j) *= scale;
  }
  return a;
}

Matrix draw_orthogonal_matrix(dim_t size, double low, double high, Rng rng) {
  Matrix a(size, size);
  draw_orthonormal(rng, a);
  for (dim_t i = 0; i < size; ++i) {
    const auto scale = static_cast<float>(rng.uniform(low, high));
    for (dim_t j = 0; j < size; ++j) a.view()(i, j) *= scale;
  }
  return a;
}

}  // namespace dsf
