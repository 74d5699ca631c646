#include "dsf/kernels/orthonormal.h"

#include <Eigen/QR>

namespace dsf {
namespace {

/// The first columns of Q, as many as `m` has.
template <typename Decomposition, typename Matrix>
Matrix thin_q(const Decomposition& decomposition, const Matrix& m) {
  return decomposition.householderQ() * Matrix::Identity(m.rows(), m.cols());
}

}  // namespace

void make_rows_orthonormal(MatrixF rows) {
  // A row-major matrix is its transpose to a library that counts by columns.
  using Columns = Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>>;
  Columns columns(rows.data, rows.cols, rows.rows, Eigen::OuterStride<>(rows.stride));
  const Eigen::MatrixXf given = columns;
  columns = thin_q(Eigen::HouseholderQR<Eigen::MatrixXf>(given), given);
}

void draw_orthonormal(Rng& rng, MatrixF columns) {
  Eigen::MatrixXd gaussian(columns.rows, columns.cols);
  for (dim_t j = 0; j < columns.cols; ++j) {
    for (dim_t i = 0; i < columns.rows; ++i) gaussian(i, j) = rng.normal();
  }
  const Eigen::HouseholderQR<Eigen::MatrixXd> decomposition(gaussian);
  const Eigen::MatrixXd q = thin_q(decomposition, gaussian);
  for (dim_t j = 0; j < columns.cols; ++j) {
    const double sign = decomposition.matrixQR()(j, j) < 0.0 ? -1.0 : 1.0;
    for (dim_t i = 0; i < columns.rows; ++i) columns(i, j) = static_cast<float>(sign * q(i, j));
  }
}

}  // namespace dsf
