#include "dsf/cells/rnn.h"

#include "dsf/kernels/gates_rnn.h"

namespace dsf {

void RnnCell::forward_gates(const ForwardRows& rows) const {
  rnn_gates_forward(rows.gates, rows.recurrent, weights().b_ih, weights().b_hh, rows.state);
}

// The state is the gate: rows.gates are still W x.
void RnnCell::backward_gates(const BackwardRows& rows) const {
  rnn_gates_backward(rows.g, rows.state, rows.d);
}

}  // namespace dsf
