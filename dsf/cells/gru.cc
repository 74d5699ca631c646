#include "dsf/cells/gru.h"

#include "dsf/kernels/rows.h"
#include "dsf/kernels/slices.h"

namespace dsf {

// --- reset after --------------------------------------------------------------------------------

void GruResetAfterCell::pack_recurrent(JacobianUse use) {
  const dim_t rows = passes().rows;
  if (passes().forward) forward_.pack(weights().U, Op::transpose, precision(), rows);
  if (!use.needed) return;
  if (use.rank > 0 && use.rank < shape().hidden) {
    backward_.pack({U_rz(), U_n()}, precision(), use.rank, rows);
  } else {
    backward_.pack({weights().U}, precision(), 0, rows);
  }
}

void GruResetAfterCell::forward_step(const ForwardRows& rows) const {
  gemm((*rows.operand)(rows.previous, precision()), forward_, Into::overwrite, rows.recurrent);
  for_each_part(rows, shape().hidden, [this](const ForwardRows& part) {
    gru_after_forward(part.recurrent, part.previous, weights().b_ih, weights().b_hh, part.gates,
                      part.state);
  });
}

void GruResetAfterCell::backward_gates(const BackwardRows& rows) const {
  gru_after_backward(rows.g, rows.previous, rows.gates, rows.d, rows.g_previous);
}

// g_{t-1} += [d_r, d_z, r d_n] U
void GruResetAfterCell::add_recurrent_product(const BackwardRows& rows,
                                              ProductScratch& scratch) const {
  const OperandView d = rows.d_operand();
  if (backward_.blocks() == 1) {
    backward_.add_product({gates_of(d, gru_tape::reset, 3)}, scratch, rows.g_previous);
  } else {
    backward_.add_product({gates_of(d, gru_tape::reset, 2), gates_of(d, gru_tape::kept, 1)},
                          scratch, rows.g_previous);
  }
}

// dU += [d_r, d_z, r d_n]^T h_{t-1}
void GruResetAfterCell::recurrent_gradients(const GradientOperands& operands,
                                            const CellGradients& gradients) const {
  gemm(Op::transpose, gates_of(operands.d, gru_tape::reset, 3), Op::none, operands.h_previous,
       operands.into, gradients.U);
  put_row(operands.column_sums + gru_tape::reset * shape().hidden, 3 * shape().hidden,
          operands.into, gradients.b_hh);
}

// --- reset before -------------------------------------------------------------------------------

void GruResetBeforeCell::pack_recurrent(JacobianUse use) {
  forward_rz_.pack(U_rz(), Op::transpose, precision());
  forward_n_.pack(U_n(), Op::transpose, precision());
  backward_n_.pack(U_n(), Op::none, precision());  // local backward needs it with every feedback
  if (use.needed) backward_rz_.pack({U_rz()}, precision(), use.rank);
}

void GruResetBeforeCell::forward_step(const ForwardRows& rows) const {
  const dim_t D = shape().hidden;
  const auto rz_of = [D](MatrixF recurrent) { return recurrent.middle_cols(0, 2 * D); };
  const auto n_of = [D](MatrixF recurrent) { return recurrent.middle_cols(2 * D, D); };
  gemm((*rows.operand)(rows.previous, precision()), forward_rz_, Into::overwrite,
       rz_of(rows.recurrent));
  for_each_part(rows, D, [&](const ForwardRows& part) {
    gru_before_forward_gates(rz_of(part.recurrent), part.previous, weights().b_ih, weights().b_hh,
                             part.gates);
  });
  const ConstMatrixF reset_h = gates_of(rows.gates, gru_tape::kept, 1);
  gemm((*rows.operand)(reset_h, precision()), forward_n_, Into::overwrite, n_of(rows.recurrent));
  for_each_part(rows, D, [&](const ForwardRows& part) {
    gru_before_forward_state(n_of(part.recurrent), part.previous, weights().b_ih, weights().b_hh,
                             part.gates, part.state);
  });
}

void GruResetBeforeCell::backward_gates(const BackwardRows& rows) const {
  gru_before_backward(rows.g, rows.previous, rows.gates, rows.d, rows.g_previous);
}

// d(r h_{t-1}) = d_n U_n; from it d_r, and the way back to h_{t-1} through the candidate.
void GruResetBeforeCell::finish_local_backward(const BackwardRows& rows,
                                               ProductScratch& scratch) const {
  constexpr dim_t kTaskRows = 16;
  const dim_t n = rows.d.rows;
  const MatrixF d_reset_h = scratch.inner.reshape(n, shape().hidden);
  const ConstMatrixF d_n = gates_of(rows.d, gru_tape::candidate, 1);
  gemm(scratch.operand(d_n, precision()), backward_n_, Into::overwrite, d_reset_h);
  parallel_ranges(n, kTaskRows, [&](dim_t begin, dim_t end) {
    const auto part = [&](auto m) { return m.empty() ? m : m.middle_rows(begin, end - begin); };
    gru_before_backward_reset(part(d_reset_h), part(rows.previous), part(rows.gates), part(rows.d),
                              part(rows.g_previous));
  });
}

// g_{t-1} += [d_r, d_z] U_rz
void GruResetBeforeCell::add_recurrent_product(const BackwardRows& rows,
                                               ProductScratch& scratch) const {
  const ConstMatrixF d_rz = gates_of(ConstMatrixF(rows.d), gru_tape::reset, 2);
  backward_rz_.add_product({scratch.operand(d_rz, precision())}, scratch, rows.g_previous);
}

// dU_rz += [d_r, d_z]^T h_{t-1},   dU_n += d_n^T (r h_{t-1})
void GruResetBeforeCell::recurrent_gradients(const GradientOperands& operands,
                                             const CellGradients& gradients) const {
  const dim_t D = shape().hidden;
  gemm(Op::transpose, gates_of(operands.d, gru_tape::reset, 2), Op::none, operands.h_previous,
       operands.into, gradients.U.middle_rows(0, 2 * D));
  gemm(Op::transpose, gates_of(operands.d, gru_tape::candidate, 1), Op::none,
       gates_of(operands.d, gru_tape::kept, 1), operands.into, gradients.U.middle_rows(2 * D, D));
  if (gradients.b_hh == nullptr) return;
  put_row(operands.column_sums + gru_tape::reset * D, 2 * D, operands.into, gradients.b_hh);
  put_row(operands.column_sums + gru_tape::candidate * D, D, operands.into, gradients.b_hh + 2 * D);
}

}  // namespace dsf
