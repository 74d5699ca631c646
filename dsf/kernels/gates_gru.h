#pragma once

// The elementwise half of the GRU, over n rows of any steps, in its two variants:
//
//   r = sigmoid(W_r x + b_ih + U_r h_{t-1} + b_hh)      z likewise
//   n = tanh(W_n x + b_ih + r (U_n h_{t-1} + b_hh))     reset after  (PyTorch, cuDNN)
//   n = tanh(W_n x + b_ih + U_n (r h_{t-1}) + b_hh)     reset before (the paper's printed equation)
//   h = (1 - z) n + z h_{t-1}
//
//   D hidden units. Biases [3D] and products U h [n, 3D] in the order of gru_gate, the tape [n, 4D]
//   in that of gru_tape; everything else [n, D] unless it says otherwise.

#include "dsf/base/view.h"

namespace dsf {

/// PyTorch's order of the gates: rows of W, U and the biases.
namespace gru_gate {
enum Order : dim_t { reset, update, candidate, count };
}

/// The columns of the tape, D each. Forward leaves [n | r | z | kept], backward [d_n | d_r | d_z |
/// d_kept] in their place, so that one product serves W with columns 0 to 3D, and another serves U
/// in PyTorch's order with columns D to 4D if the GRU resets after.
///
///                 kept                  d_kept
///   reset after   U_n h_{t-1} + b_hh    r d_n, its gradient
///   reset before  r h_{t-1}             the same: dU_n = d_n^T (r h_{t-1}) reads it
namespace gru_tape {
enum Column : dim_t { candidate, reset, update, kept, count };
}

// --- reset after --------------------------------------------------------------------------------

/// recurrent   [n, 3D] in: U h_{t-1}
/// h_previous  in: h_{t-1}
/// tape        in: W x in the first 3D columns; out: n, r, z, U_n h_{t-1} + b_hh
/// h           overwritten; may not alias h_previous
void gru_after_forward(ConstMatrixF recurrent, ConstMatrixF h_previous, const float* b_ih,
                       const float* b_hh, MatrixF tape, MatrixF h);

///   d_z = g (h_{t-1} - n) z (1 - z),   d_n = g (1 - z) (1 - n^2),
///   d_r = d_n (U_n h_{t-1} + b_hh) r (1 - r),   and g_{t-1} += g z  (the elementwise path)
///
/// g, h_previous  in
/// tape           in: n, r, z, U_n h_{t-1} + b_hh
/// d              [n, 4D] overwritten: d_n, d_r, d_z, r d_n; may be `tape`
/// g_previous     accumulated into; an empty view: not wanted
void gru_after_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF tape, MatrixF d,
                        MatrixF g_previous);

// --- reset before -------------------------------------------------------------------------------

/// The gates that come before the candidate's product.
/// recurrent_rz  [n, 2D] in: U_r h_{t-1}, U_z h_{t-1}
/// h_previous    in
/// tape          in: W x in the first 3D columns; out: r, z, r h_{t-1}; n's columns are left alone
void gru_before_forward_gates(ConstMatrixF recurrent_rz, ConstMatrixF h_previous, const float* b_ih,
                              const float* b_hh, MatrixF tape);

/// The candidate and the new state.
/// recurrent_n  in: U_n (r h_{t-1})
/// h_previous   in
/// tape         in: W_n x, r, z; out: n, r, z
/// h            overwritten; may not alias h_previous
void gru_before_forward_state(ConstMatrixF recurrent_n, ConstMatrixF h_previous, const float* b_ih,
                              const float* b_hh, MatrixF tape, MatrixF h);

/// d_z, d_n and g_{t-1} += g z as above; d_r is not known yet.
/// tape  in: n, r, z
/// d     [n, 4D] overwritten: d_n, d_z; the other columns are left alone; may be `tape`
void gru_before_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF tape, MatrixF d,
                         MatrixF g_previous);

///   d_r = d(r h_{t-1}) h_{t-1} r (1 - r),   g_{t-1} += d(r h_{t-1}) r
/// where d(r h_{t-1}) = d_n U_n is a matrix product the caller has done.
/// d_reset_h, h_previous  in
/// tape                   in: r
/// d                      [n, 4D] overwritten: d_r; may be `tape`
/// g_previous             accumulated into; an empty view: not wanted
void gru_before_backward_reset(ConstMatrixF d_reset_h, ConstMatrixF h_previous, ConstMatrixF tape,
                               MatrixF d, MatrixF g_previous);

}  // namespace dsf
