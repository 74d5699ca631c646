#include "dsf/cells/gru.h"

#include "dsf/cells/row_parts.h"
#include "dsf/kernels/diagonal_step.h"
#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

OperandView columns_of(const OperandView& m, dim_t begin, dim_t count) {
  return m.block(0, m.rows, begin, count);
}

}  // namespace

// dU_rz += d_rz^T h_{t-1},   db_hh += sum of d over the rows, for r and z
void GruCell::gate_gradients(const GradientOperands& operands, const CellWork& work,
                             const CellGradients& gradients) const {
  const dim_t D = shape().hidden;
  gemm(Op::transpose, columns_of(operands.d, 0, 2 * D), Op::none, operands.h_previous,
       Into::accumulate, gradients.U.middle_rows(0, 2 * D));
  add_row(work.bias_sums.data(), 2 * D, gradients.b_hh);
}

// --- reset after --------------------------------------------------------------------------------

void GruResetAfterCell::pack_recurrent(StateProductUse use) {
  forward_.pack(weights().U, Op::transpose, precision());
  if (use.all) recurrent_backward_.pack({U_rz(), U_n()}, precision(), use.rank);
  if (use.candidate) candidate_backward_.pack({U_n()}, precision(), use.rank);
}

void GruResetAfterCell::forward_step(const ForwardRows& rows) const {
  gemm((*rows.operand)(rows.previous, precision()), forward_, Into::overwrite, rows.recurrent);
  for_each_part(rows, shape().hidden, [this](const ForwardRows& part) {
    gru_after_forward(part.recurrent, part.previous, weights().b_ih, weights().b_hh, part.gates,
                      part.extra, part.state);
  });
}

void GruResetAfterCell::backward_gates(const BackwardRows& rows) const {
  gru_after_backward(rows.g, rows.previous, rows.gates, rows.extra, rows.d, rows.d_extra,
                     rows.g_previous);
}

// g_{t-1} += d_rz U_rz + (r d_n) U_n
void GruResetAfterCell::add_recurrent_product(const BackwardRows& rows,
                                              ProductScratch& scratch) const {
  recurrent_backward_.add_product({rz_of(rows.d), rows.d_extra}, scratch, rows.g_previous);
}

// g_{t-1} += (r d_n) U_n
void GruResetAfterCell::add_candidate_product(ConstMatrixF d, ProductScratch& scratch,
                                              MatrixF g_previous) const {
  candidate_backward_.add_product({d}, scratch, g_previous);
}

void GruResetAfterCell::backward_candidate(const BackwardRows& rows) const {
  gru_after_candidate_backward(rows.g, rows.gates, rows.d, rows.g_previous);
}

// g_{t-1} += d_r u_r + d_z u_z + r d_n u_n
void GruResetAfterCell::add_own_product(float sign, const BackwardRows& rows) const {
  const float* u = recurrent_diagonal();
  add_own_products(sign, rz_of(rows.d), u, rows.g_previous);
  add_own_products(sign, rows.d_extra, u + 2 * shape().hidden, rows.g_previous);
}

// dU_n += (r d_n)^T h_{t-1}
void GruResetAfterCell::recurrent_gradients(const GradientOperands& operands, CellWork& work,
                                            const CellGradients& gradients) const {
  const dim_t D = shape().hidden;
  gate_gradients(operands, work, gradients);
  gemm(Op::transpose, work.d_extra_operand(work.extra, precision()), Op::none, operands.h_previous,
       Into::accumulate, gradients.U.middle_rows(2 * D, D));
  column_sums(work.extra, work.partial_sums, gradients.b_hh + 2 * D);
}

// --- reset before -------------------------------------------------------------------------------

void GruResetBeforeCell::pack_recurrent(StateProductUse use) {
  forward_rz_.pack(U_rz(), Op::transpose, precision());
  forward_n_.pack(U_n(), Op::transpose, precision());
  backward_n_.pack(U_n(), Op::none, precision());  // local backward needs it with every feedback
  if (use.all) recurrent_backward_.pack({U_rz()}, precision(), use.rank);
}

void GruResetBeforeCell::forward_step(const ForwardRows& rows) const {
  const dim_t D = shape().hidden;
  gemm((*rows.operand)(rows.previous, precision()), forward_rz_, Into::overwrite,
       rz_of(rows.recurrent));
  for_each_part(rows, D, [this](const ForwardRows& part) {
    gru_before_forward_gates(rz_of(part.recurrent), part.previous, weights().b_ih, weights().b_hh,
                             part.gates, part.extra);
  });
  gemm((*rows.operand)(rows.extra, precision()), forward_n_, Into::overwrite, n_of(rows.recurrent));
  for_each_part(rows, D, [this](const ForwardRows& part) {
    gru_before_forward_state(n_of(part.recurrent), part.previous, weights().b_ih, weights().b_hh,
                             part.gates, part.state);
  });
}

void GruResetBeforeCell::backward_gates(const BackwardRows& rows) const {
  gru_before_backward(rows.g, rows.previous, rows.gates, rows.d, rows.g_previous);
}

// d(r h_{t-1}) = d_n U_n
void GruResetBeforeCell::finishing_product(ConstMatrixF d, OperandScratch& operand,
                                           MatrixF d_extra) const {
  gemm(operand(n_of(d), precision()), backward_n_, Into::overwrite, d_extra);
}

// From it d_r, and the way back to h_{t-1} through the candidate.
void GruResetBeforeCell::finish_gates(const BackwardRows& rows) const {
  gru_before_backward_reset(rows.d_extra, rows.previous, rows.gates, rows.d, rows.g_previous);
}

// g_{t-1} += d_rz U_rz
void GruResetBeforeCell::add_recurrent_product(const BackwardRows& rows,
                                               ProductScratch& scratch) const {
  recurrent_backward_.add_product({rz_of(rows.d)}, scratch, rows.g_previous);
}

void GruResetBeforeCell::backward_candidate(const BackwardRows& rows) const {
  gru_before_candidate_backward(rows.g, rows.gates, rows.d, rows.g_previous);
}

// d(r h_{t-1}) = d_n U_n, in g_{t-1}'s place
void GruResetBeforeCell::add_candidate_product(ConstMatrixF d, ProductScratch& scratch,
                                               MatrixF g_previous) const {
  gemm(scratch.operand(d, precision()), backward_n_, Into::accumulate, g_previous);
}

void GruResetBeforeCell::scale_candidate_product(const BackwardRows& rows) const {
  gru_scale_by_reset(rows.gates, rows.g_previous);
}

// The unit's own reset gate, own candidate and update gate.
void GruResetBeforeCell::add_own_product(float sign, const BackwardRows& rows) const {
  add_gru_before_own_product(sign, rows.previous, rows.gates, rows.d, recurrent_diagonal(),
                             rows.g_previous);
}

// dU_n += d_n^T (r h_{t-1})
void GruResetBeforeCell::recurrent_gradients(const GradientOperands& operands, CellWork& work,
                                             const CellGradients& gradients) const {
  const dim_t D = shape().hidden;
  gate_gradients(operands, work, gradients);
  gemm(Op::transpose, columns_of(operands.d, 2 * D, D), Op::none,
       work.d_extra_operand(work.extra, precision()), Into::accumulate,
       gradients.U.middle_rows(2 * D, D));
  add_row(work.bias_sums.data() + 2 * D, D, gradients.b_hh + 2 * D);
}

}  // namespace dsf
