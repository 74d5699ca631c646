#include "tests/reference/low_rank.h"

#include <algorithm>
#include <cmath>

#include "tests/reference/grid_products.h"

namespace dsf::reference {
namespace {

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
  Grid<double> Q = apply_map(transposed(a), apply_map(a, W));
  for (dim_t i = 0; i < rank; ++i) {
    for (dim_t k = 0; k < i; ++k) {
      const double along = dot(Q, i, k);
      for (dim_t j = 0; j < Q.cols; ++j) Q(i, j) -= along * Q(k, j);
    }
    const double norm = std::sqrt(dot(Q, i, i));
    for (dim_t j = 0; j < Q.cols; ++j) Q(i, j) /= norm;
  }
  return apply_map(transposed(Q), apply_map(Q, a));
}

}  // namespace dsf::reference
