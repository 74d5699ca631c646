#include "dsf/kernels/gates_lstm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/gates_lstm.cc"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "dsf/kernels/activation-inl.h"
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

void lstm_forward(ConstMatrixF recurrent, ConstMatrixF previous, const float* b_ih,
                  const float* b_hh, MatrixF gates, MatrixF state) {
  const dim_t D = state.cols / 2;
  for (dim_t row = 0; row < state.rows; ++row) {
    const float* q = recurrent.row(row);
    const float* c_previous = previous.row(row) + D;
    float* gate = gates.row(row);
    float* h_out = state.row(row);
    float* c_out = h_out + D;
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const auto pre_activation = [&](lstm_gate::Order which) HWY_ATTR {
        const dim_t k = which * D + j;
        const auto from_input = hn::Add(hn::LoadU(d, gate + k), hn::LoadU(d, b_ih + k));
        return hn::Add(from_input, hn::Add(hn::LoadU(d, q + k), hn::LoadU(d, b_hh + k)));
      };
      const auto i = sigmoid(d, pre_activation(lstm_gate::input));
      const auto f = sigmoid(d, pre_activation(lstm_gate::forget));
      const auto m = hn::Tanh(d, pre_activation(lstm_gate::candidate));
      const auto o = sigmoid(d, pre_activation(lstm_gate::output));
      const auto c = hn::MulAdd(f, hn::LoadU(d, c_previous + j), hn::Mul(i, m));
      hn::StoreU(i, d, gate + lstm_gate::input * D + j);
      hn::StoreU(f, d, gate + lstm_gate::forget * D + j);
      hn::StoreU(m, d, gate + lstm_gate::candidate * D + j);
      hn::StoreU(o, d, gate + lstm_gate::output * D + j);
      hn::StoreU(c, d, c_out + j);
      hn::StoreU(hn::Mul(o, hn::Tanh(d, c)), d, h_out + j);
    });
  }
}

void lstm_backward(ConstMatrixF g, ConstMatrixF previous, ConstMatrixF state, ConstMatrixF gates,
                   MatrixF d_out, MatrixF g_previous) {
  const dim_t D = state.cols / 2;
  for (dim_t row = 0; row < state.rows; ++row) {
    const float* g_h = g.row(row);
    const float* g_c = g_h + D;
    const float* c_previous = previous.row(row) + D;
    const float* c = state.row(row) + D;
    const float* gate = gates.row(row);
    float* out = d_out.row(row);
    float* g_c_previous = g_previous.empty() ? nullptr : g_previous.row(row) + D;
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t ji = lstm_gate::input * D + j;
      const dim_t jf = lstm_gate::forget * D + j;
      const dim_t jm = lstm_gate::candidate * D + j;
      const dim_t jo = lstm_gate::output * D + j;
      const auto i = hn::LoadU(d, gate + ji);
      const auto f = hn::LoadU(d, gate + jf);
      const auto m = hn::LoadU(d, gate + jm);
      const auto o = hn::LoadU(d, gate + jo);
      const auto s = hn::Tanh(d, hn::LoadU(d, c + j));
      const auto dh = hn::LoadU(d, g_h + j);
      const auto dc = hn::MulAdd(hn::Mul(dh, o), tanh_slope(d, s), hn::LoadU(d, g_c + j));
      const auto c_before = hn::LoadU(d, c_previous + j);
      hn::StoreU(hn::Mul(hn::Mul(dc, m), sigmoid_slope(d, i)), d, out + ji);
      hn::StoreU(hn::Mul(hn::Mul(dc, c_before), sigmoid_slope(d, f)), d, out + jf);
      hn::StoreU(hn::Mul(hn::Mul(dc, i), tanh_slope(d, m)), d, out + jm);
      hn::StoreU(hn::Mul(hn::Mul(dh, s), sigmoid_slope(d, o)), d, out + jo);
      if (g_c_previous != nullptr) {
        hn::StoreU(hn::MulAdd(dc, f, hn::LoadU(d, g_c_previous + j)), d, g_c_previous + j);
      }
    });
  }
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {
HWY_EXPORT(lstm_forward);
HWY_EXPORT(lstm_backward);

void lstm_gates_forward(ConstMatrixF recurrent, ConstMatrixF previous, const float* b_ih,
                        const float* b_hh, MatrixF gates, MatrixF state) {
  HWY_DYNAMIC_DISPATCH(lstm_forward)(recurrent, previous, b_ih, b_hh, gates, state);
}

void lstm_gates_backward(ConstMatrixF g, ConstMatrixF previous, ConstMatrixF state,
                         ConstMatrixF gates, MatrixF d, MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(lstm_backward)(g, previous, state, gates, d, g_previous);
}

}  // namespace dsf
#endif  // HWY_ONCE
