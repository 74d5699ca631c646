#include "dsf/cells/rnn.h"

#include "dsf/kernels/diagonal_step.h"

namespace dsf {

void RnnCell::pack_recurrent(JacobianUse use) {
  SingleProductCell::pack_recurrent(use);
  diagonal_.ensure(shape().hidden);
  for (dim_t j = 0; j < shape().hidden; ++j) diagonal_[j] = weights().U(j, j);
}

void RnnCell::forward_gates(const ForwardRows& rows) const {
  rnn_gates_forward(f_, rows.gates, rows.recurrent, weights().b_ih, weights().b_hh, rows.state);
}

// The state is the gate: rows.gates are still W x.
void RnnCell::backward_gates(const BackwardRows& rows) const {
  rnn_gates_backward(f_, rows.g, rows.state, rows.d);
}

// g_{t-1} += sign d u,   u: the diagonal of U
void RnnCell::add_diagonal_part(float sign, const BackwardRows& rows) const {
  add_signed_diagonal_product(sign, diagonal_.span(), rows.d, rows.g_previous);
}

}  // namespace dsf
