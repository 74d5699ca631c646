#pragma once

// GELU in the tanh form of GPT-2 (Hendrycks and Gimpel, 2016)
//
//   y = x/2 (1 + tanh(u)) = x s,    s = 1 / (1 + exp(-2u)),    u = sqrt(2/pi) (x + 0.044715 x^3)

#include "dsf/base/view.h"

namespace dsf {

/// y is overwritten; it may be the same view as x.
void gelu_forward(ConstMatrixF x, MatrixF y);

/// dx = dy (s + x s (1 - s) 2 du/dx), overwritten; it may be the same view as dy.
void gelu_backward(ConstMatrixF dy, ConstMatrixF x, MatrixF dx);

}  // namespace dsf
