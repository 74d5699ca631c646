#include "dsf/kernels/random_matrix.h"

#include <Eigen/Core>
#include <cmath>

#include "dsf/kernels/orthonormal.h"

namespace dsf {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The norm of A, by power iteration on A A^T: a little too small.
double norm_of(const Matrix& matrix) {
  constexpr int kRounds = 100;
  const Eigen::MatrixXd a =
      Eigen::Map<const RowMajor>(matrix.view().data, matrix.rows(), matrix.cols()).cast<double>();
  Eigen::VectorXd x = Eigen::VectorXd::Ones(matrix.rows());
  double norm = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    x = a * (a.transpose() * x);
    norm = x.norm();
    x /= norm;
  }
  return std::sqrt(norm);
}

}  // namespace

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
