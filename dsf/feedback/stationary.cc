#include "dsf/feedback/stationary.h"

#include <cmath>

#include "dsf/feedback/streaming.h"

namespace dsf {
namespace {

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

void StationaryFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                             FeedbackWorkspace& /*work*/, MatrixF g) {
  const auto add_product = [&](ConstMatrixF g_t, MatrixF g_previous) {
    matrix_->add_product(g_t, g_previous);
  };
  stream_back(layout, cell, add_product, g);
}

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

}  // namespace dsf
