#pragma once

// A gate with SiLU on both sides:   y = silu(m) * silu(r),   silu(z) = z sigmoid(z)

#include "dsf/base/view.h"

namespace dsf {

/// m, r, y of equal shape; y is overwritten.
void silu_gate_forward(ConstMatrixF m, ConstMatrixF r, MatrixF y);

/// m and r are overwritten by their gradients:
///   dm = dy silu(r) silu'(m)
///   dr = dy silu(m) silu'(r)       silu'(z) = s (1 + z (1 - s)),   s = sigmoid(z)
void silu_gate_backward(ConstMatrixF dy, MatrixF m, MatrixF r);

}  // namespace dsf
