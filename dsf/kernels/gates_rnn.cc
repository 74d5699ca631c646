#include "dsf/kernels/gates_rnn.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/gates_rnn.cc"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "dsf/kernels/activation-inl.h"
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

// relu and its slope as torch.relu has them: NaN stays NaN, the slope at 0 is 0.
template <Nonlinearity kF, class Tag, class V>
V activate(Tag d, V x) {
  if constexpr (kF == Nonlinearity::tanh) return hn::Tanh(d, x);
  return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
}

template <Nonlinearity kF, class Tag, class V>
V slope_times(Tag d, V h, V g) {
  if constexpr (kF == Nonlinearity::tanh) return hn::Mul(g, tanh_slope(d, h));
  return hn::IfThenElseZero(hn::Gt(h, hn::Zero(d)), g);
}

template <Nonlinearity kF>
void forward_rows(ConstMatrixF input, ConstMatrixF recurrent, const float* b_ih, const float* b_hh,
                  MatrixF h) {
  for (dim_t i = 0; i < h.rows; ++i) {
    const float* p = input.row(i);
    const float* q = recurrent.row(i);
    float* out = h.row(i);
    for_each_lane_group(h.cols, [=](auto d, dim_t j) HWY_ATTR {
      const auto from_input = hn::Add(hn::LoadU(d, p + j), hn::LoadU(d, b_ih + j));
      const auto from_state = hn::Add(hn::LoadU(d, q + j), hn::LoadU(d, b_hh + j));
      hn::StoreU(activate<kF>(d, hn::Add(from_input, from_state)), d, out + j);
    });
  }
}

template <Nonlinearity kF>
void backward_rows(ConstMatrixF g, ConstMatrixF h, MatrixF d_out) {
  for (dim_t i = 0; i < h.rows; ++i) {
    const float* g_row = g.row(i);
    const float* h_row = h.row(i);
    float* out = d_out.row(i);
    for_each_lane_group(h.cols, [=](auto d, dim_t j) HWY_ATTR {
      hn::StoreU(slope_times<kF>(d, hn::LoadU(d, h_row + j), hn::LoadU(d, g_row + j)), d, out + j);
    });
  }
}

void rnn_forward(Nonlinearity f, ConstMatrixF input, ConstMatrixF recurrent, const float* b_ih,
                 const float* b_hh, MatrixF h) {
  if (f == Nonlinearity::tanh) {
    forward_rows<Nonlinearity::tanh>(input, recurrent, b_ih, b_hh, h);
  } else {
    forward_rows<Nonlinearity::relu>(input, recurrent, b_ih, b_hh, h);
  }
}

void rnn_backward(Nonlinearity f, ConstMatrixF g, ConstMatrixF h, MatrixF d) {
  if (f == Nonlinearity::tanh) {
    backward_rows<Nonlinearity::tanh>(g, h, d);
  } else {
    backward_rows<Nonlinearity::relu>(g, h, d);
  }
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {
HWY_EXPORT(rnn_forward);
HWY_EXPORT(rnn_backward);

void rnn_gates_forward(Nonlinearity f, ConstMatrixF input, ConstMatrixF recurrent,
                       const float* b_ih, const float* b_hh, MatrixF h) {
  HWY_DYNAMIC_DISPATCH(rnn_forward)(f, input, recurrent, b_ih, b_hh, h);
}

void rnn_gates_backward(Nonlinearity f, ConstMatrixF g, ConstMatrixF h, MatrixF d) {
  HWY_DYNAMIC_DISPATCH(rnn_backward)(f, g, h, d);
}

}  // namespace dsf
#endif  // HWY_ONCE
