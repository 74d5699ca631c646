// The two steps that every softmax here begins with: the largest element of a row, and an exp that
// lets no diverged model pass for a trained one.
// Compiled once for each instruction set: included by a kernel's .cc after hwy/foreach_target.h.

// The guard is toggled, not set: each target needs its own copy.
#if defined(DSF_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DSF_KERNELS_SOFTMAX_INL_H_
#undef DSF_KERNELS_SOFTMAX_INL_H_
#else
#define DSF_KERNELS_SOFTMAX_INL_H_
#endif

#include <algorithm>

#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

// The largest element, n >= 1. What comes out of a row with NaNs is one of its elements.
HWY_INLINE float row_max(const float* x, dim_t n) {
  const VectorTag d;
  const auto lanes = static_cast<dim_t>(hn::Lanes(d));
  float largest = x[0];
  dim_t i = 0;
  if (n >= lanes) {
    auto max = hn::LoadU(d, x);
    for (i = lanes; i + lanes <= n; i += lanes) max = hn::Max(hn::LoadU(d, x + i), max);
    largest = hn::GetLane(hn::MaxOfLanes(d, max));
  }
  for (; i < n; ++i) largest = std::max(largest, x[i]);
  return largest;
}

// exp(z) for finite z, NaN for all others: 0 * z is 0 or NaN. Highway's Exp turns a NaN into 0.
struct StrictExp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V z) const {
    return hn::MulAdd(z, hn::Zero(d), hn::Exp(d, z));
  }
};

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DSF_KERNELS_SOFTMAX_INL_H_
