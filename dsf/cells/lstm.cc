#include "dsf/cells/lstm.h"

namespace dsf {

void LstmCell::forward_gates(const ForwardRows& rows) const {
  lstm_gates_forward(rows.recurrent, rows.previous, weights().b_ih, weights().b_hh, rows.gates,
                     rows.state);
}

void LstmCell::backward_gates(const BackwardRows& rows) const {
  lstm_gates_backward(rows.g, rows.previous, rows.state, rows.gates, rows.d, rows.g_previous);
}

}  // namespace dsf
