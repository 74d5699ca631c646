#include "dsf/kernels/low_rank.h"

#include "dsf/base/rng.h"
#include "dsf/kernels/orthonormal.h"

namespace dsf {

void LowRankFactors::draw_probe(dim_t rank, dim_t columns) {
  if (probe_.rows() == rank && probe_.cols() == columns) return;
  const MatrixF probe = probe_.reshape(rank, columns);
  Rng rng(0, "low rank factors");
  for (dim_t i = 0; i < rank; ++i) {
    for (dim_t j = 0; j < columns; ++j) probe(i, j) = static_cast<float>(rng.normal());
  }
}

void LowRankFactors::fit(ConstMatrixF a, dim_t rank, Precision precision) {
  draw_probe(rank, a.cols);
  const MatrixF left = left_.reshape(a.rows, rank);
  const MatrixF right = right_.reshape(rank, a.cols);
  const OperandView whole = whole_operand_(a, precision);
  gemm(Op::none, whole, Op::transpose, thin_operand_(probe_, precision), Into::overwrite, left);
  gemm(Op::transpose, thin_operand_(left, precision), Op::none, whole, Into::overwrite, right);
  make_rows_orthonormal(right);
  gemm(Op::none, whole, Op::transpose, thin_operand_(right, precision), Into::overwrite, left);
}

}  // namespace dsf
