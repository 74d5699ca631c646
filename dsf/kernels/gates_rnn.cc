#include "dsf/kernels/gates_rnn.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/gates_rnn.cc"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "dsf/kernels/activation-inl.h"
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

void rnn_forward(ConstMatrixF input, ConstMatrixF recurrent, const float* b_ih, const float* b_hh,
                 MatrixF h) {
  for (dim_t i = 0; i < h.rows; ++i) {
    const float* p = input.row(i);
    const float* q = recurrent.row(i);
    float* out = h.row(i);
    for_each_lane_group(h.cols, [=](auto d, dim_t j) HWY_ATTR {
      const auto from_input = hn::Add(hn::LoadU(d, p + j), hn::LoadU(d, b_ih + j));
      const auto from_state = hn::Add(hn::LoadU(d, q + j), hn::LoadU(d, b_hh + j));
      hn::StoreU(hn::Tanh(d, hn::Add(from_input, from_state)), d, out + j);
    });
  }
}

void rnn_backward(ConstMatrixF g, ConstMatrixF h, MatrixF d_out) {
  for (dim_t i = 0; i < h.rows; ++i) {
    const float* g_row = g.row(i);
    const float* h_row = h.row(i);
    float* out = d_out.row(i);
    for_each_lane_group(h.cols, [=](auto d, dim_t j) HWY_ATTR {
      const auto slope = tanh_slope(d, hn::LoadU(d, h_row + j));
      hn::StoreU(hn::Mul(hn::LoadU(d, g_row + j), slope), d, out + j);
    });
  }
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {
HWY_EXPORT(rnn_forward);
HWY_EXPORT(rnn_backward);

void rnn_gates_forward(ConstMatrixF input, ConstMatrixF recurrent, const float* b_ih,
                       const float* b_hh, MatrixF h) {
  HWY_DYNAMIC_DISPATCH(rnn_forward)(input, recurrent, b_ih, b_hh, h);
}

void rnn_gates_backward(ConstMatrixF g, ConstMatrixF h, MatrixF d) {
  HWY_DYNAMIC_DISPATCH(rnn_backward)(g, h, d);
}

}  // namespace dsf
#endif  // HWY_ONCE
