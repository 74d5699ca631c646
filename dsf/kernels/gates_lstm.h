#pragma once

// The elementwise half of the LSTM, over n rows of any steps.
//
//   D hidden units. Gates [n, 4D] in the order of lstm_gate. States [n, 2D] = [h, c], and so are
//   their gradients g = [g_h, g_c].

#include "dsf/base/view.h"

namespace dsf {

/// PyTorch's order of the gates: rows of W, U and the biases, columns of `gates`.
namespace lstm_gate {
enum Order : dim_t { input, forget, candidate, output, count };
}

/// i, f, o = sigmoid(W x + b_ih + U h_{t-1} + b_hh),  m = tanh(...)   (m: the candidate)
/// c = f c_{t-1} + i m,   h = o tanh(c)
///
/// recurrent  [n, 4D] in: U h_{t-1}
/// previous   [n, 2D] in: h_{t-1}, c_{t-1}
/// gates      [n, 4D] in: W x; out: i, f, m, o
/// state      [n, 2D] overwritten: h, c; may not alias `previous`
void lstm_gates_forward(ConstMatrixF recurrent, ConstMatrixF previous, const float* b_ih,
                        const float* b_hh, MatrixF gates, MatrixF state);

/// With s = tanh(c) and the total gradient of the cell  dc = g_c + g_h o (1 - s^2):
///   d_i = dc m i (1 - i),   d_f = dc c_{t-1} f (1 - f),   d_m = dc i (1 - m^2),
///   d_o = g_h s o (1 - o),  and the elementwise path to the step before  g_c(t-1) += dc f
///
/// g           [n, 2D] in
/// previous    [n, 2D] in: only c_{t-1} is read
/// state       [n, 2D] in: only c is read
/// gates       [n, 4D] in: i, f, m, o
/// d           [n, 4D] overwritten: the gradients of their pre-activations; may be `gates`
/// g_previous  [n, 2D] accumulated into, the g_c half only; an empty view: not wanted
void lstm_gates_backward(ConstMatrixF g, ConstMatrixF previous, ConstMatrixF state,
                         ConstMatrixF gates, MatrixF d, MatrixF g_previous);

}  // namespace dsf
