#include "dsf/kernels/bf16_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/bf16_rows.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/bf16_rows-inl.h"
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

void to_bf16_row(const float* x, dim_t n, bf16_t* y) {
  for_each_lane_group(
      n, [&](auto d, dim_t i) HWY_ATTR { store_as_bf16(d, hn::LoadU(d, x + i), y + i); });
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {

HWY_EXPORT(to_bf16_row);

void to_bf16_row(const float* x, dim_t n, bf16_t* y) { HWY_DYNAMIC_DISPATCH(to_bf16_row)(x, n, y); }

}  // namespace dsf
#endif
