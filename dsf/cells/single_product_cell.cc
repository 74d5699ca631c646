#include "dsf/cells/single_product_cell.h"

#include "dsf/cells/row_parts.h"
#include "dsf/kernels/diagonal_step.h"
#include "dsf/kernels/rows.h"

namespace dsf {

void SingleProductCell::pack_recurrent(StateProductUse use) {
  recurrent_forward_.pack(weights().U, Op::transpose, precision());
  const dim_t D = shape().hidden;
  if (use.all) recurrent_backward_.pack({weights().U}, precision(), use.rank);
  if (use.candidate) {
    candidate_backward_.pack({weights().U.middle_rows(candidate() * D, D)}, precision(), use.rank);
  }
}

void SingleProductCell::forward_step(const ForwardRows& rows) const {
  gemm((*rows.operand)(h_of(rows.previous), precision()), recurrent_forward_, Into::overwrite,
       rows.recurrent);
  for_each_part(rows, shape().hidden, [this](const ForwardRows& part) { forward_gates(part); });
}

void SingleProductCell::add_recurrent_product(const BackwardRows& rows,
                                              ProductScratch& scratch) const {
  recurrent_backward_.add_product({rows.d}, scratch, h_of(rows.g_previous));
}

void SingleProductCell::add_candidate_product(ConstMatrixF d, ProductScratch& scratch,
                                              MatrixF g_previous) const {
  candidate_backward_.add_product({d}, scratch, h_of(g_previous));
}

ConstMatrixF SingleProductCell::candidate_d(const BackwardRows& rows) const {
  const dim_t D = shape().hidden;
  return rows.d.middle_cols(candidate() * D, D);
}

void SingleProductCell::add_own_product(float sign, const BackwardRows& rows) const {
  add_own_products(sign, rows.d, recurrent_diagonal(), h_of(rows.g_previous));
}

void SingleProductCell::recurrent_gradients(const GradientOperands& operands, CellWork& work,
                                            const CellGradients& gradients) const {
  gemm(Op::transpose, operands.d, Op::none, operands.h_previous, Into::accumulate, gradients.U);
  add_row(work.bias_sums.data(), operands.d.cols, gradients.b_hh);
}

}  // namespace dsf
