#include "tests/reference/low_rank.h"

#include <algorithm>
#include <cmath>

namespace dsf::reference {
namespace {

Grid<double> product(const Grid<double>& a, const Grid<double>& b) {
  Grid<double> c(a.rows, b.cols);
  for (dim_t i = 0; i < a.rows; ++i) {
    for (dim_t j = 0; j < b.cols; ++j) {
      for (dim_t k = 0; k < a.cols; ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

Grid<double> transposed(const Grid<double>& a) {
  Grid<double> t(a.cols, a.rows);
  for (dim_t i = 0; i < a.rows; ++i) {
    for (dim_t j = 0; j < a.cols; ++j) t(j, i) = a(i, j);
  }
  return t;
}

double dot(const Grid<double>& a, dim_t i, dim_t k) {
  double sum = 0.0;
  for (dim_t j = 0; j < a.cols; ++j) sum += a(i, j) * a(k, j);
  return sum;
}

}  // namespace

Grid<double> low_rank(const Grid<double>& a, dim_t rank) {
  if (rank >= std::min(a.rows, a.cols)) return a;
  Grid<double> W(rank, a.cols);
  Rng rng(0, "low rank factors");
  for (double& value : W.values) value = rng.normal();
  Grid<double> Q = product(product(W, transposed(a)), a);
  for (dim_t i = 0; i < rank; ++i) {
    for (dim_t k = 0; k < i; ++k) {
      const double along = dot(Q, i, k);
      for (dim_t j = 0; j < Q.cols; ++j) Q(i, j) -= along * Q(k, j);
    }
    const double norm = std::sqrt(dot(Q, i, i));
    for (dim_t j = 0; j < Q.cols; ++j) Q(i, j) /= norm;
  }
  return product(product(a, transposed(Q)), Q);
}

}  // namespace dsf::reference
