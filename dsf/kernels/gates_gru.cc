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

// d_n = g (1 - z) (1 - n^2)
template <class Tag>
HWY_INLINE hn::Vec<Tag> candidate_gradient(Tag d, hn::Vec<Tag> g, hn::Vec<Tag> z, hn::Vec<Tag> n) {
  const auto dn = hn::Mul(g, hn::Sub(hn::Set(d, 1.0F), z));
  return hn::Mul(dn, tanh_slope(d, n));
}

// What both variants' backward passes share: stores d_z, adds g z to g_{t-1} where it is wanted,
// returns d_n.
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
  return candidate_gradient(d, g, z, n);
}

// The place of column j in a row that may not be wanted at all.
HWY_INLINE float* at(float* row, dim_t j) { return row == nullptr ? nullptr : row + j; }

HWY_INLINE float* row_or_null(MatrixF m, dim_t i) { return m.empty() ? nullptr : m.row(i); }

void after_forward(ConstMatrixF recurrent, ConstMatrixF h_previous, const float* b_ih,
                   const float* b_hh, MatrixF gates, MatrixF recurrent_n, MatrixF h) {
  const dim_t D = h.cols;
  for (dim_t i = 0; i < h.rows; ++i) {
    const float* q = recurrent.row(i);
    const float* before = h_previous.row(i);
    float* gate = gates.row(i);
    float* q_n_out = recurrent_n.row(i);
    float* out = h.row(i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jr = gru_gate::reset * D + j;
      const dim_t jz = gru_gate::update * D + j;
      const dim_t jn = gru_gate::candidate * D + j;
      const auto r = gate_value(d, gate + jr, b_ih + jr, q + jr, b_hh + jr);
      const auto z = gate_value(d, gate + jz, b_ih + jz, q + jz, b_hh + jz);
      const auto q_n = hn::Add(hn::LoadU(d, q + jn), hn::LoadU(d, b_hh + jn));
      const auto p_n = hn::Add(hn::LoadU(d, gate + jn), hn::LoadU(d, b_ih + jn));
      const auto n = hn::Tanh(d, hn::MulAdd(r, q_n, p_n));
      hn::StoreU(r, d, gate + jr);
      hn::StoreU(z, d, gate + jz);
      hn::StoreU(n, d, gate + jn);
      hn::StoreU(q_n, d, q_n_out + j);
      hn::StoreU(new_state(z, n, hn::LoadU(d, before + j)), d, out + j);
    });
  }
}

void after_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF gates,
                    ConstMatrixF recurrent_n, MatrixF d_out, MatrixF d_recurrent_n,
                    MatrixF g_previous) {
  const dim_t D = h_previous.cols;
  for (dim_t i = 0; i < g.rows; ++i) {
    const float* g_row = g.row(i);
    const float* before = h_previous.row(i);
    const float* gate = gates.row(i);
    const float* q_n = recurrent_n.row(i);
    float* out = d_out.row(i);
    float* dq_n = d_recurrent_n.row(i);
    float* g_before = row_or_null(g_previous, i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jr = gru_gate::reset * D + j;
      const dim_t jz = gru_gate::update * D + j;
      const dim_t jn = gru_gate::candidate * D + j;
      const auto d_n = backward_of_state(d, g_row + j, before + j, gate + jz, gate + jn, out + jz,
                                         at(g_before, j));
      const auto r = hn::LoadU(d, gate + jr);
      const auto d_r = hn::Mul(hn::Mul(d_n, hn::LoadU(d, q_n + j)), sigmoid_slope(d, r));
      hn::StoreU(d_n, d, out + jn);
      hn::StoreU(d_r, d, out + jr);
      hn::StoreU(hn::Mul(r, d_n), d, dq_n + j);
    });
  }
}

void before_forward_gates(ConstMatrixF recurrent_rz, ConstMatrixF h_previous, const float* b_ih,
                          const float* b_hh, MatrixF gates, MatrixF reset_h) {
  const dim_t D = reset_h.cols;
  for (dim_t i = 0; i < reset_h.rows; ++i) {
    const float* q = recurrent_rz.row(i);
    const float* before = h_previous.row(i);
    float* gate = gates.row(i);
    float* out = reset_h.row(i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jr = gru_gate::reset * D + j;
      const dim_t jz = gru_gate::update * D + j;
      const auto r = gate_value(d, gate + jr, b_ih + jr, q + jr, b_hh + jr);
      const auto z = gate_value(d, gate + jz, b_ih + jz, q + jz, b_hh + jz);
      hn::StoreU(r, d, gate + jr);
      hn::StoreU(z, d, gate + jz);
      hn::StoreU(hn::Mul(r, hn::LoadU(d, before + j)), d, out + j);
    });
  }
}

void before_forward_state(ConstMatrixF recurrent_n, ConstMatrixF h_previous, const float* b_ih,
                          const float* b_hh, MatrixF gates, MatrixF h) {
  const dim_t D = h.cols;
  for (dim_t i = 0; i < h.rows; ++i) {
    const float* q = recurrent_n.row(i);
    const float* before = h_previous.row(i);
    float* gate = gates.row(i);
    float* out = h.row(i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jn = gru_gate::candidate * D + j;
      const auto p_n = hn::Add(hn::LoadU(d, gate + jn), hn::LoadU(d, b_ih + jn));
      const auto q_n = hn::Add(hn::LoadU(d, q + j), hn::LoadU(d, b_hh + jn));
      const auto n = hn::Tanh(d, hn::Add(p_n, q_n));
      const auto z = hn::LoadU(d, gate + gru_gate::update * D + j);
      hn::StoreU(n, d, gate + jn);
      hn::StoreU(new_state(z, n, hn::LoadU(d, before + j)), d, out + j);
    });
  }
}

void before_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF gates, MatrixF d_out,
                     MatrixF g_previous) {
  const dim_t D = h_previous.cols;
  for (dim_t i = 0; i < g.rows; ++i) {
    const float* g_row = g.row(i);
    const float* before = h_previous.row(i);
    const float* gate = gates.row(i);
    float* out = d_out.row(i);
    float* g_before = row_or_null(g_previous, i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jz = gru_gate::update * D + j;
      const dim_t jn = gru_gate::candidate * D + j;
      const auto d_n = backward_of_state(d, g_row + j, before + j, gate + jz, gate + jn, out + jz,
                                         at(g_before, j));
      hn::StoreU(d_n, d, out + jn);
    });
  }
}

void before_own_product(float sign, ConstMatrixF h_previous, ConstMatrixF gates, ConstMatrixF d_in,
                        const float* u, MatrixF g_previous) {
  const dim_t D = h_previous.cols;
  for (dim_t i = 0; i < h_previous.rows; ++i) {
    const float* before = h_previous.row(i);
    const float* gate = gates.row(i);
    const float* d_row = d_in.row(i);
    float* g_before = g_previous.row(i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const dim_t jr = gru_gate::reset * D + j;
      const dim_t jz = gru_gate::update * D + j;
      const dim_t jn = gru_gate::candidate * D + j;
      const auto r = hn::LoadU(d, gate + jr);
      const auto through_r =
          hn::Mul(hn::Mul(hn::LoadU(d, before + j), sigmoid_slope(d, r)), hn::LoadU(d, u + jr));
      const auto d_reset = hn::Mul(hn::LoadU(d, d_row + jn), hn::LoadU(d, u + jn));
      const auto through_z = hn::Mul(hn::LoadU(d, d_row + jz), hn::LoadU(d, u + jz));
      const auto sum = hn::MulAdd(d_reset, hn::Add(r, through_r), through_z);
      hn::StoreU(hn::MulAdd(hn::Set(d, sign), sum, hn::LoadU(d, g_before + j)), d, g_before + j);
    });
  }
}

void before_backward_reset(ConstMatrixF d_reset_h, ConstMatrixF h_previous, ConstMatrixF gates,
                           MatrixF d_out, MatrixF g_previous) {
  const dim_t D = h_previous.cols;
  for (dim_t i = 0; i < h_previous.rows; ++i) {
    const float* d_row = d_reset_h.row(i);
    const float* before = h_previous.row(i);
    const float* r_row = gates.row(i) + gru_gate::reset * D;
    float* out = d_out.row(i) + gru_gate::reset * D;
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

// d_n of both variants with the gates held, times r where `reset_after`.
template <bool reset_after>
HWY_INLINE void candidate_backward(ConstMatrixF g, ConstMatrixF gates, MatrixF d_out,
                                   MatrixF g_previous) {
  const dim_t D = d_out.cols;
  for (dim_t i = 0; i < d_out.rows; ++i) {
    const float* g_row = g.row(i);
    const float* gate = gates.row(i);
    float* out = d_out.row(i);
    float* g_before = row_or_null(g_previous, i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      const auto g_here = hn::LoadU(d, g_row + j);
      const auto z = hn::LoadU(d, gate + gru_gate::update * D + j);
      const auto n = hn::LoadU(d, gate + gru_gate::candidate * D + j);
      auto d_n = candidate_gradient(d, g_here, z, n);
      if constexpr (reset_after) d_n = hn::Mul(d_n, hn::LoadU(d, gate + gru_gate::reset * D + j));
      hn::StoreU(d_n, d, out + j);
      if (g_before != nullptr) {
        hn::StoreU(hn::MulAdd(g_here, z, hn::LoadU(d, g_before + j)), d, g_before + j);
      }
    });
  }
}

void after_candidate_backward(ConstMatrixF g, ConstMatrixF gates, MatrixF d, MatrixF g_previous) {
  candidate_backward<true>(g, gates, d, g_previous);
}

void before_candidate_backward(ConstMatrixF g, ConstMatrixF gates, MatrixF d, MatrixF g_previous) {
  candidate_backward<false>(g, gates, d, g_previous);
}

void scale_by_reset(ConstMatrixF gates, MatrixF m) {
  const dim_t D = m.cols;
  for (dim_t i = 0; i < m.rows; ++i) {
    const float* r = gates.row(i) + gru_gate::reset * D;
    float* out = m.row(i);
    for_each_lane_group(D, [=](auto d, dim_t j) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, out + j), hn::LoadU(d, r + j)), d, out + j);
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
HWY_EXPORT(before_own_product);
HWY_EXPORT(after_candidate_backward);
HWY_EXPORT(before_candidate_backward);
HWY_EXPORT(scale_by_reset);

void gru_after_forward(ConstMatrixF recurrent, ConstMatrixF h_previous, const float* b_ih,
                       const float* b_hh, MatrixF gates, MatrixF recurrent_n, MatrixF h) {
  HWY_DYNAMIC_DISPATCH(after_forward)(recurrent, h_previous, b_ih, b_hh, gates, recurrent_n, h);
}

void gru_after_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF gates,
                        ConstMatrixF recurrent_n, MatrixF d, MatrixF d_recurrent_n,
                        MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(after_backward)
  (g, h_previous, gates, recurrent_n, d, d_recurrent_n, g_previous);
}

void gru_before_forward_gates(ConstMatrixF recurrent_rz, ConstMatrixF h_previous, const float* b_ih,
                              const float* b_hh, MatrixF gates, MatrixF reset_h) {
  HWY_DYNAMIC_DISPATCH(before_forward_gates)(recurrent_rz, h_previous, b_ih, b_hh, gates, reset_h);
}

void gru_before_forward_state(ConstMatrixF recurrent_n, ConstMatrixF h_previous, const float* b_ih,
                              const float* b_hh, MatrixF gates, MatrixF h) {
  HWY_DYNAMIC_DISPATCH(before_forward_state)(recurrent_n, h_previous, b_ih, b_hh, gates, h);
}

void gru_before_backward(ConstMatrixF g, ConstMatrixF h_previous, ConstMatrixF gates, MatrixF d,
                         MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(before_backward)(g, h_previous, gates, d, g_previous);
}

void gru_before_backward_reset(ConstMatrixF d_reset_h, ConstMatrixF h_previous, ConstMatrixF gates,
                               MatrixF d, MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(before_backward_reset)(d_reset_h, h_previous, gates, d, g_previous);
}

void add_gru_before_own_product(float sign, ConstMatrixF h_previous, ConstMatrixF gates,
                                ConstMatrixF d, const float* u, MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(before_own_product)(sign, h_previous, gates, d, u, g_previous);
}

void gru_after_candidate_backward(ConstMatrixF g, ConstMatrixF gates, MatrixF d,
                                  MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(after_candidate_backward)(g, gates, d, g_previous);
}

void gru_before_candidate_backward(ConstMatrixF g, ConstMatrixF gates, MatrixF d,
                                   MatrixF g_previous) {
  HWY_DYNAMIC_DISPATCH(before_candidate_backward)(g, gates, d, g_previous);
}

void gru_scale_by_reset(ConstMatrixF gates, MatrixF m) {
  HWY_DYNAMIC_DISPATCH(scale_by_reset)(gates, m);
}

}  // namespace dsf
#endif  // HWY_ONCE
