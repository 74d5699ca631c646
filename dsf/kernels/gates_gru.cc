#include "dsf/kernels/gates_gru.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/gates_gru.cc"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "dsf/kernels/activation-inl.h"
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

// sigmoid(p + b_ih + q + b_hh), the gates r and z of both variants.
template <class Tag>
HWY_INLINE hn::Vec<Tag> gate_value(Tag d, const float* p, const float* b_ih, const float* q,
                                   const float* b_hh) {
  const auto from_input = hn::Add(hn::LoadU(d, p), hn::LoadU(d, b_ih));
  return sigmoid(d, hn::Add(from_input, hn::Add(hn::LoadU(d, q), hn::LoadU(d, b_hh))));
}

// (1 - z) n + z h_{t-1}
template <class V>
HWY_INLINE V new_state(V z, V n, V h_previous) {
  return hn::MulAdd(z, hn::Sub(h_previous, n), n);
}

// What both variants' backward passes share: stores d_z, adds g z to g_{t-1} if it is wanted, returns
// d_n = g (1 - z) (1 - n^2).
template <class Tag>
HWY_INLINE hn::Vec<Tag> backward_of_state(Tag d, const float* g_place, const float* h_previous,
                                          const float* z_place, const float* n_place,
                                          float* dz_place, float* g_previous) {
  const auto g = hn::LoadU(d, g_place);
  const auto z = hn::LoadU(d, z_place);
  const auto n = hn::LoadU(d, n_place);
  const auto dz = hn::Mul(g, hn::Sub(hn::LoadU(d, h_previous), n));
  hn::StoreU(hn::Mul(dz, sigmoid_slope(d, z)), d, dz_place);
  if (g_previous != nullptr) {
    hn::StoreU(hn::MulAdd(g, z, hn::LoadU(d, g_previous)), d, g_previous);
  }
  return hn::Mul(hn::Mul(g, hn::Sub(hn::Set(d, 1.0F), z)), tanh_slope(d, n));
}

// The place of column j in a row that may not be wanted at all.
HWY_INLINE float* at(float* row, dim_t j) { return row == nullptr ? nullptr : row + j; }

HWY_INLINE float* row_or_null(MatrixF m, dim_t i) { return m.empty() ? nullptr : m.row(i); }

// The columns of one row of the tape, or of d.
template <typename T>
struct TapeRow {
  HWY_INLINE TapeRow(MatrixView<T> m, dim_t i) {
    const dim_t D = m.cols / gru_tape::count;
    n = m.row(i) + gru_tape::candidate * D;
    r = m.row(i) + gru_tape::reset * D;
    z = m.row(i) + gru_tape::update * D;
    kept = m.row(i) + gru_tape::kept * D;
  }
  T* n;
  T* r;
  T* z;
  T* kept;
};

void after_forward(ConstMatrixF recurrent, ConstMatrixF h_previous, const float* b_ih,
                   const float* b_hh, MatrixF tape, MatrixF h) {
  const dim_t D = h.cols;
  for (dim_t i = 0; i < h.rows; ++i) {
    const float* q = recurrent.row(i);
    const float* before = h_previous.row(i);
    const TapeRow<float> at(tape, i);
    float* out = h.row(i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jr = gru_gate::reset * D + j;
      const dim_t jz = gru_gate::update * D + j;
      const dim_t jn = gru_gate::candidate * D + j;
      const auto r = gate_value(d, at.r + j, b_ih + jr, q + jr, b_hh + jr);
      const auto z = gate_value(d, at.z + j, b_ih + jz, q + jz, b_hh + jz);
      const auto q_n = hn::Add(hn::LoadU(d, q + jn), hn::LoadU(d, b_hh + jn));
      const auto p_n = hn::Add(hn::LoadU(d, at.n + j), hn::LoadU(d, b_ih + jn));
      const auto n = hn::Tanh(d, hn::MulAdd(r, q_n, p_n));
      hn::StoreU(r, d, at.r + j);
      hn::StoreU(z, d, at.z + j);
      hn::StoreU(n, d, at.n + j);
      hn::StoreU(q_n, d, at.kept + j);
      hn::StoreU(new_state(z, n, hn::LoadU(d, before + j)), d, out + j);
    });
  }
}

void after_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF tape, MatrixF d_out,
                    MatrixF g_previous) {
  const dim_t D = h_previous.cols;
  for (dim_t i = 0; i < g.rows; ++i) {
    const float* g_row = g.row(i);
    const float* before = h_previous.row(i);
    const TapeRow<const float> in(tape, i);
    const TapeRow<float> out(d_out, i);
    float* g_before = row_or_null(g_previous, i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const auto d_n = backward_of_state(d, g_row + j, before + j, in.z + j, in.n + j, out.z + j,
                                         at(g_before, j));
      const auto r = hn::LoadU(d, in.r + j);
      const auto d_r = hn::Mul(hn::Mul(d_n, hn::LoadU(d, in.kept + j)), sigmoid_slope(d, r));
      hn::StoreU(d_n, d, out.n + j);
      hn::StoreU(d_r, d, out.r + j);
      hn::StoreU(hn::Mul(r, d_n), d, out.kept + j);
    });
  }
}

void before_forward_gates(ConstMatrixF recurrent_rz, ConstMatrixF h_previous, const float* b_ih,
                          const float* b_hh, MatrixF tape) {
  const dim_t D = h_previous.cols;
  for (dim_t i = 0; i < tape.rows; ++i) {
    const float* q = recurrent_rz.row(i);
    const float* before = h_previous.row(i);
    const TapeRow<float> at(tape, i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jr = gru_gate::reset * D + j;
      const dim_t jz = gru_gate::update * D + j;
      const auto r = gate_value(d, at.r + j, b_ih + jr, q + jr, b_hh + jr);
      const auto z = gate_value(d, at.z + j, b_ih + jz, q + jz, b_hh + jz);
      hn::StoreU(r, d, at.r + j);
      hn::StoreU(z, d, at.z + j);
      hn::StoreU(hn::Mul(r, hn::LoadU(d, before + j)), d, at.kept + j);
    });
  }
}

void before_forward_state(ConstMatrixF recurrent_n, ConstMatrixF h_previous, const float* b_ih,
                          const float* b_hh, MatrixF tape, MatrixF h) {
  const dim_t D = h.cols;
  for (dim_t i = 0; i < h.rows; ++i) {
    const float* q = recurrent_n.row(i);
    const float* before = h_previous.row(i);
    const TapeRow<float> at(tape, i);
    float* out = h.row(i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jn = gru_gate::candidate * D + j;
      const auto p_n = hn::Add(hn::LoadU(d, at.n + j), hn::LoadU(d, b_ih + jn));
      const auto q_n = hn::Add(hn::LoadU(d, q + j), hn::LoadU(d, b_hh + jn));
      const auto n = hn::Tanh(d, hn::Add(p_n, q_n));
      const auto z = hn::LoadU(d, at.z + j);
      hn::StoreU(n, d, at.n + j);
      hn::StoreU(new_state(z, n, hn::LoadU(d, before + j)), d, out + j);
    });
  }
}

void before_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF tape, MatrixF d_out,
                     MatrixF g_previous) {
  const dim_t D = h_previous.cols;
  for (dim_t i = 0; i < g.rows; ++i) {
    const float* g_row = g.row(i);
    const float* before = h_previous.row(i);
    const TapeRow<const float> in(tape, i);
    const TapeRow<float> out(d_out, i);
    float* g_before = row_or_null(g_previous, i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const auto d_n = backward_of_state(d, g_row + j, before + j, in.z + j, in.n + j, out.z + j,
                                         at(g_before, j));
      hn::StoreU(d_n, d, out.n + j);
    });
  }
}

void before_backward_reset(ConstMatrixF d_reset_h, ConstMatrixF h_previous, ConstMatrixF tape,
                           MatrixF d_out, MatrixF g_previous) {
  const dim_t D = h_previous.cols;
  for (dim_t i = 0; i < h_previous.rows; ++i) {
    const float* d_row = d_reset_h.row(i);
    const float* before = h_previous.row(i);
    const float* r_row = TapeRow<const float>(tape, i).r;
    float* out = TapeRow<float>(d_out, i).r;
    float* g_before = row_or_null(g_previous, i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const auto r = hn::LoadU(d, r_row + j);
      const auto d_reset = hn::LoadU(d, d_row + j);
      const auto d_r = hn::Mul(d_reset, hn::LoadU(d, before + j));
      hn::StoreU(hn::Mul(d_r, sigmoid_slope(d, r)), d, out + j);
      if (g_before != nullptr) {
        hn::StoreU(hn::MulAdd(d_reset, r, hn::LoadU(d, g_before + j)), d, g_before + j);
      }
    });
  }
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {
HWY_EXPORT(after_forward);
HWY_EXPORT(after_backward);
HWY_EXPORT(before_forward_gates);
HWY_EXPORT(before_forward_state);
HWY_EXPORT(before_backward);
HWY_EXPORT(before_backward_reset);

void gru_after_forward(ConstMatrixF recurrent, ConstMatrixF h_previous, const float* b_ih,
                       const float* b_hh, MatrixF tape, MatrixF h) {
  HWY_DYNAMIC_DISPATCH(after_forward)(recurrent, h_previous, b_ih, b_hh, tape, h);
}

void gru_after_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF tape, MatrixF d,
                        MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(after_backward)(g, h_previous, tape, d, g_previous);
}

void gru_before_forward_gates(ConstMatrixF recurrent_rz, ConstMatrixF h_previous, const float* b_ih,
                              const float* b_hh, MatrixF tape) {
  HWY_DYNAMIC_DISPATCH(before_forward_gates)(recurrent_rz, h_previous, b_ih, b_hh, tape);
}

void gru_before_forward_state(ConstMatrixF recurrent_n, ConstMatrixF h_previous, const float* b_ih,
                              const float* b_hh, MatrixF tape, MatrixF h) {
  HWY_DYNAMIC_DISPATCH(before_forward_state)(recurrent_n, h_previous, b_ih, b_hh, tape, h);
}

void gru_before_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF tape, MatrixF d,
                         MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(before_backward)(g, h_previous, tape, d, g_previous);
}

void gru_before_backward_reset(ConstMatrixF d_reset_h, ConstMatrixF h_previous, ConstMatrixF tape,
                               MatrixF d, MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(before_backward_reset)(d_reset_h, h_previous, tape, d, g_previous);
}

}  // namespace dsf
#endif  // HWY_ONCE
