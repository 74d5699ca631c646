#pragma once

// The elementwise half of the vanilla RNN, over n rows of any steps.
//
//   D hidden units; all matrices are [n, D], all biases [D]

#include "dsf/base/view.h"

namespace dsf {

enum class Nonlinearity { tanh, relu };

/// h = f(W x + b_ih + U h_{t-1} + b_hh),   f: tanh or relu
/// `input` W x and `recurrent` U h_{t-1} are read; `h` is overwritten. No aliasing.
void rnn_gates_forward(Nonlinearity f, ConstMatrixF input, ConstMatrixF recurrent,
                       const float* b_ih, const float* b_hh, MatrixF h);

/// d = g f', the gradient of the pre-activation: f' is 1 - h^2, or 1 if h > 0 and else 0.
/// `g` and `h` are read; `d` is overwritten and may alias neither.
void rnn_gates_backward(Nonlinearity f, ConstMatrixF g, ConstMatrixF h, MatrixF d);

}  // namespace dsf
