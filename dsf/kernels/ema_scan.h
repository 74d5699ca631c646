#pragma once

// Sums of exponential moving averages along time: a diagonal state-space model with real entries.
//
//   T steps, B sequences, E channels, N dimensions a channel
//
//   s_t[n] = q[n] s_{t-1}[n] + v_t             for each channel, n < N
//   m_t    = sum_n k[n] s_t[n] + omega v_t
//
// The gradients of m's error dm are exact and need neither the states of the forward pass nor
// memory that grows with T. Backwards in time, for the input:
//
//   c_t[n] = dm_t + q[n] c_{t+1}[n],           dv_t = sum_n k[n] c_t[n] + omega dm_t
//
// and forwards, for the coefficients, with the sensitivity r = ds/dq (the recurrence is diagonal,
// so it is one more number a state):
//
//   r_t[n] = q[n] r_{t-1}[n] + s_{t-1}[n],     dq[n] = k[n] sum_t dm_t r_t[n]
//   dk[n]  = sum_t dm_t s_t[n],                domega = sum_t dm_t v_t
//
// The initial state is a constant.

#include "dsf/base/buffer.h"
#include "dsf/base/packed_layout.h"
#include "dsf/base/view.h"

namespace dsf {

/// The largest N.
inline constexpr dim_t kEmaMaxDims = 64;

/// Per dimension and channel, [N, E] each; omega [E].
struct EmaCoefficients {
  ConstMatrixF q;
  ConstMatrixF k;
  const float* omega = nullptr;
};

/// Gradients of the coefficients in the same shapes, overwritten.
struct EmaCoefficientGradients {
  MatrixF dq;
  MatrixF dk;
  float* domega = nullptr;
};

/// v [rows, E] in; m [rows, E] overwritten. state [B, N E] (dimension after dimension): on entry
/// the states before the first step, on return after the last; an empty view starts from zero.
void ema_forward(const PackedLayout& layout, const EmaCoefficients& coefficients, ConstMatrixF v,
                 MatrixF state, MatrixF m);

/// v, dm [rows, E] in. initial_state [B, N E], or empty for zero. dv [rows, E] overwritten, may be
/// the same view as v. `work` grows to a few copies of the coefficients, however many sequences.
void ema_backward(const PackedLayout& layout, const EmaCoefficients& coefficients,
                  ConstMatrixF initial_state, ConstMatrixF dm, ConstMatrixF v, Buffer<float>& work,
                  MatrixF dv, const EmaCoefficientGradients& gradients);

}  // namespace dsf
