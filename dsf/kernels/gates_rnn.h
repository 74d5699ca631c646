#pragma once

// The elementwise half of the vanilla RNN, over n rows of any steps.
//
//   D hidden units; all matrices are [n, D], all biases [D]

#include "dsf/base/view.h"

namespace dsf {

/// h = tanh(W x + b_ih + U h_{t-1} + b_hh)
/// `input` W x and `recurrent` U h_{t-1} are read; `h` is overwritten. No aliasing.
void rnn_gates_forward(ConstMatrixF input, ConstMatrixF recurrent, const float* b_ih,
                       const float* b_hh, MatrixF h);

/// d = g (1 - h^2): the gradient of the pre-activation.
/// `g` and `h` are read; `d` is overwritten and may alias neither.
void rnn_gates_backward(ConstMatrixF g, ConstMatrixF h, MatrixF d);

}  // namespace dsf
