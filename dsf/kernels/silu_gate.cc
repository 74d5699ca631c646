#include "dsf/kernels/silu_gate.h"

#include "dsf/kernels/parallel_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/silu_gate.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/activation-inl.h"
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

void gate_row(const float* m, const float* r, dim_t n, float* y) {
  for_each_lane_group(n, [=](auto d, dim_t j) HWY_ATTR {
    const auto left = hn::LoadU(d, m + j);
    const auto right = hn::LoadU(d, r + j);
    const auto sigmoids = hn::Mul(sigmoid(d, left), sigmoid(d, right));
    hn::StoreU(hn::Mul(hn::Mul(left, right), sigmoids), d, y + j);
  });
}

// silu'(z) = s + silu(z) (1 - s)
template <class D, class V>
HWY_INLINE V silu_slope(D d, V s, V silu) {
  return hn::MulAdd(silu, hn::Sub(hn::Set(d, 1.0F), s), s);
}

void gate_gradient_row(const float* dy, dim_t n, float* m, float* r) {
  for_each_lane_group(n, [=](auto d, dim_t j) HWY_ATTR {
    const auto g = hn::LoadU(d, dy + j);
    const auto left = hn::LoadU(d, m + j);
    const auto right = hn::LoadU(d, r + j);
    const auto s_left = sigmoid(d, left);
    const auto s_right = sigmoid(d, right);
    const auto silu_left = hn::Mul(left, s_left);
    const auto silu_right = hn::Mul(right, s_right);
    hn::StoreU(hn::Mul(hn::Mul(g, silu_right), silu_slope(d, s_left, silu_left)), d, m + j);
    hn::StoreU(hn::Mul(hn::Mul(g, silu_left), silu_slope(d, s_right, silu_right)), d, r + j);
  });
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {

HWY_EXPORT(gate_row);
HWY_EXPORT(gate_gradient_row);

void silu_gate_forward(ConstMatrixF m, ConstMatrixF r, MatrixF y) {
  parallel_tiles(y.rows, y.cols, [&](const Tile& tile) {
    for (dim_t i = tile.row; i < tile.row + tile.rows; ++i) {
      HWY_DYNAMIC_DISPATCH(gate_row)
      (m.row(i) + tile.col, r.row(i) + tile.col, tile.cols, y.row(i) + tile.col);
    }
  });
}

void silu_gate_backward(ConstMatrixF dy, MatrixF m, MatrixF r) {
  parallel_tiles(dy.rows, dy.cols, [&](const Tile& tile) {
    for (dim_t i = tile.row; i < tile.row + tile.rows; ++i) {
      HWY_DYNAMIC_DISPATCH(gate_gradient_row)
      (dy.row(i) + tile.col, tile.cols, m.row(i) + tile.col, r.row(i) + tile.col);
    }
  });
}

}  // namespace dsf
#endif  // HWY_ONCE
