#include "dsf/kernels/gelu.h"

#include "dsf/kernels/parallel_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/gelu.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

constexpr float kTwoSqrtTwoOverPi = 1.5957691216057308F;  // 2 sqrt(2/pi)
constexpr float kCubic = 0.044715F;

// s(x) = 1 / (1 + exp(-2u)). The exponent is held below 88, where exp would overflow; s is then
// 1e-38, and a NaN still comes through the multiplication by x that follows.
template <class D, class V>
HWY_INLINE V gelu_sigmoid(D d, V x) {
  const auto minus_slope = hn::Set(d, -kTwoSqrtTwoOverPi);
  const auto one = hn::Set(d, 1.0F);
  const auto inner = hn::MulAdd(hn::Set(d, kCubic), hn::Mul(x, x), one);
  const auto exponent = hn::Mul(hn::Mul(minus_slope, x), inner);
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Min(exponent, hn::Set(d, 87.0F)))));
}

void gelu_row(const float* x, dim_t n, float* y) {
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreU(hn::Mul(v, gelu_sigmoid(d, v)), d, y + i);
  });
}

// dy/dx = s + x s (1 - s) 2 sqrt(2/pi) (1 + 3 * 0.044715 x^2)
void gelu_gradient_row(const float* dy, const float* x, dim_t n, float* dx) {
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    const auto one = hn::Set(d, 1.0F);
    const auto v = hn::LoadU(d, x + i);
    const auto s = gelu_sigmoid(d, v);
    const auto inner = hn::MulAdd(hn::Set(d, 3.0F * kCubic), hn::Mul(v, v), one);
    const auto slope = hn::Mul(hn::Set(d, kTwoSqrtTwoOverPi), inner);
    const auto x_ds = hn::Mul(hn::Mul(v, slope), hn::Sub(one, s));
    const auto derivative = hn::MulAdd(s, x_ds, s);
    hn::StoreU(hn::Mul(hn::LoadU(d, dy + i), derivative), d, dx + i);
  });
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {

HWY_EXPORT(gelu_row);
HWY_EXPORT(gelu_gradient_row);

void gelu_forward(ConstMatrixF x, MatrixF y) {
  parallel_tiles(y.rows, y.cols, [&](const Tile& tile) {
    for (dim_t i = tile.row; i < tile.row + tile.rows; ++i) {
      HWY_DYNAMIC_DISPATCH(gelu_row)(x.row(i) + tile.col, tile.cols, y.row(i) + tile.col);
    }
  });
}

void gelu_backward(ConstMatrixF dy, ConstMatrixF x, MatrixF dx) {
  parallel_tiles(dx.rows, dx.cols, [&](const Tile& tile) {
    for (dim_t i = tile.row; i < tile.row + tile.rows; ++i) {
      HWY_DYNAMIC_DISPATCH(gelu_gradient_row)
      (dy.row(i) + tile.col, x.row(i) + tile.col, tile.cols, dx.row(i) + tile.col);
    }
  });
}

}  // namespace dsf
#endif  // HWY_ONCE
