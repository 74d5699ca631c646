#pragma once

// The elementwise half of the GRU, over n rows of any steps, in its two variants:
//
//   r = sigmoid(W_r x + b_ih + U_r h_{t-1} + b_hh)      z likewise
//   n = tanh(W_n x + b_ih + r (U_n h_{t-1} + b_hh))     reset after  (PyTorch, cuDNN)
//   n = tanh(W_n x + b_ih + U_n (r h_{t-1}) + b_hh)     reset before (the paper's printed equation)
//   h = (1 - z) n + z h_{t-1}
//
//   D hidden units. Gates [n, 3D] in the order of gru_gate, biases [3D] in the same order;
//   everything else [n, D] unless it says otherwise.

#include "dsf/base/view.h"

namespace dsf {

/// PyTorch's order of the gates: rows of W, U and the biases, columns of `gates`.
namespace gru_gate {
enum Order : dim_t { reset, update, candidate, count };
}

// --- reset after --------------------------------------------------------------------------------

/// recurrent    [n, 3D] in: U h_{t-1}
/// h_previous   in: h_{t-1}
/// gates        in: W x; out: r, z, n
/// recurrent_n  overwritten: U_n h_{t-1} + b_hh, which backward needs
/// h            overwritten; may not alias h_previous
void gru_after_forward(ConstMatrixF recurrent, ConstMatrixF h_previous, const float* b_ih,
                       const float* b_hh, MatrixF gates, MatrixF recurrent_n, MatrixF h);

///   d_z = g (h_{t-1} - n) z (1 - z),   d_n = g (1 - z) (1 - n^2),
///   d_r = d_n (U_n h_{t-1} + b_hh) r (1 - r),   and g_{t-1} += g z  (the elementwise path)
///
/// g, h_previous  in
/// gates          in: r, z, n
/// recurrent_n    in: U_n h_{t-1} + b_hh
/// d              [n, 3D] overwritten: d_r, d_z, d_n, the gradients of W x; may be `gates`
/// d_recurrent_n  overwritten: r d_n, the gradient of recurrent_n; may be `recurrent_n`
/// g_previous     accumulated into; an empty view: not wanted
void gru_after_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF gates,
                        ConstMatrixF recurrent_n, MatrixF d, MatrixF d_recurrent_n,
                        MatrixF g_previous);

/// The same with the gates held at their values, for the gradient of recurrent_n alone:
///   d = r d_n,   g_{t-1} += g z
/// g, gates, g_previous as above; d overwritten
void gru_after_candidate_backward(ConstMatrixF g, ConstMatrixF gates, MatrixF d,
                                  MatrixF g_previous);

// --- reset before -------------------------------------------------------------------------------

/// The gates that come before the candidate's product.
/// recurrent_rz  [n, 2D] in: U_r h_{t-1}, U_z h_{t-1}
/// h_previous    in
/// gates         in: W x; out: r, z; the candidate's columns are left alone
/// reset_h       overwritten: r h_{t-1}, the operand of the candidate's product
void gru_before_forward_gates(ConstMatrixF recurrent_rz, ConstMatrixF h_previous, const float* b_ih,
                              const float* b_hh, MatrixF gates, MatrixF reset_h);

/// The candidate and the new state.
/// recurrent_n  in: U_n (r h_{t-1})
/// h_previous   in
/// gates        in: r, z, W_n x; out: r, z, n
/// h            overwritten; may not alias h_previous
void gru_before_forward_state(ConstMatrixF recurrent_n, ConstMatrixF h_previous, const float* b_ih,
                              const float* b_hh, MatrixF gates, MatrixF h);

/// d_z, d_n and g_{t-1} += g z as above; d_r is not known yet.
/// gates  in: r, z, n
/// d      [n, 3D] overwritten: d_z, d_n; the reset gate's columns are left alone; may be `gates`
void gru_before_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF gates, MatrixF d,
                         MatrixF g_previous);

///   d_r = d(r h_{t-1}) h_{t-1} r (1 - r),   g_{t-1} += d(r h_{t-1}) r
/// where d(r h_{t-1}) = d_n U_n is a matrix product the caller has done.
/// d_reset_h, h_previous  in
/// gates                  in: r in the reset gate's columns
/// d                      [n, 3D] overwritten: d_r in the same columns; may be `gates`
/// g_previous             accumulated into; an empty view: not wanted
void gru_before_backward_reset(ConstMatrixF d_reset_h, ConstMatrixF h_previous, ConstMatrixF gates,
                               MatrixF d, MatrixF g_previous);

/// With the gates held at their values:  d = d_n,   g_{t-1} += g z,   and behind the product
/// d_n U_n,   d(h_{t-1}) = d(r h_{t-1}) r.
/// g, gates, g_previous as above; d overwritten
void gru_before_candidate_backward(ConstMatrixF g, ConstMatrixF gates, MatrixF d,
                                   MatrixF g_previous);
/// gates  in: r in the reset gate's columns
/// m      multiplied by it
void gru_scale_by_reset(ConstMatrixF gates, MatrixF m);

/// What a unit sends back to itself through its own recurrent weights u = [u_r, u_z, u_n] [3D], the
/// diagonals of U_r, U_z and U_n:
///   g_{t-1} += sign (d_z u_z + d_n u_n (r + h_{t-1} r (1 - r) u_r))
/// h_previous  in
/// gates       in: r in the reset gate's columns
/// d           [n, 3D] in: d_z, d_n; may be `gates`
/// g_previous  accumulated into
void add_gru_before_own_product(float sign, ConstMatrixF h_previous, ConstMatrixF gates,
                                ConstMatrixF d, const float* u, MatrixF g_previous);

}  // namespace dsf
