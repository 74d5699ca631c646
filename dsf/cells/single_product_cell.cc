#include "dsf/cells/single_product_cell.h"

#include "dsf/kernels/rows.h"
#include "dsf/kernels/slices.h"

namespace dsf {

void SingleProductCell::pack_recurrent(JacobianUse use) {
  const dim_t rows = passes().rows;
  if (passes().forward) recurrent_forward_.pack(weights().U, Op::transpose, precision(), rows);
  if (use.needed) recurrent_backward_.pack({weights().U}, precision(), use.rank, rows);
}

void SingleProductCell::forward_step(const ForwardRows& rows) const {
  gemm((*rows.operand)(h_of(rows.previous), precision()), recurrent_forward_, Into::overwrite,
       rows.recurrent);
  for_each_part(rows, shape().hidden, [this](const ForwardRows& part) { forward_gates(part); });
}

void SingleProductCell::add_recurrent_product(const BackwardRows& rows,
                                              ProductScratch& scratch) const {
  recurrent_backward_.add_product({rows.d_operand()}, scratch, h_of(rows.g_previous));
}

void SingleProductCell::recurrent_gradients(const GradientOperands& operands,
                                            const CellGradients& gradients) const {
  gemm(Op::transpose, operands.d, Op::none, operands.h_previous, operands.into, gradients.U);
  put_row(operands.column_sums, shape().gate_columns(), operands.into, gradients.b_hh);
}

}  // namespace dsf
