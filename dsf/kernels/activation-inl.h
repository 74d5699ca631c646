// Sigmoid, and the slopes of sigmoid and tanh, for the gate kernels (tanh itself is Highway's).
// Compiled once for each instruction set: included by a kernel's .cc after hwy/foreach_target.h.

// The guard is toggled, not set: each target needs its own copy.
#if defined(DSF_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DSF_KERNELS_ACTIVATION_INL_H_
#undef DSF_KERNELS_ACTIVATION_INL_H_
#else
#define DSF_KERNELS_ACTIVATION_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sigmoid(x) = 1 / (1 + e^-x), written with e = exp(-|x|) so that nothing overflows:
// 1 / (1 + e) for x >= 0, e / (1 + e) for x < 0. Highway's Exp maps NaN to 0; here NaN stays NaN.
template <class Tag, class V = hn::Vec<Tag>>
HWY_INLINE V sigmoid(Tag d, V x) {
  const V one = hn::Set(d, 1.0F);
  const V e = hn::Exp(d, hn::Neg(hn::Abs(x)));
  const V s = hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  return hn::IfThenElse(hn::IsNaN(x), x, s);
}

// y (1 - y): the derivative of a sigmoid in terms of its value.
template <class Tag, class V = hn::Vec<Tag>>
HWY_INLINE V sigmoid_slope(Tag d, V y) {
  return hn::Mul(y, hn::Sub(hn::Set(d, 1.0F), y));
}

// 1 - y^2: the derivative of tanh in terms of its value.
template <class Tag, class V = hn::Vec<Tag>>
HWY_INLINE V tanh_slope(Tag d, V y) {
  return hn::NegMulAdd(y, y, hn::Set(d, 1.0F));
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DSF_KERNELS_ACTIVATION_INL_H_
