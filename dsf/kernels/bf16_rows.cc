#include "dsf/kernels/bf16_rows.h"

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dsf/kernels/bf16_rows.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "dsf/kernels/simd_loop-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

// Half a unit of the last place that stays is added, less one bit where that place is even; then the
// lower half is cut off. A NaN keeps its upper half and is made quiet.
void to_bf16_row(const float* x, dim_t n, bf16_t* y) {
  for_each_lane_group(n, [&](auto d, dim_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto bits = hn::BitCast(di, hn::LoadU(d, x + i));
    const auto upper = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0xFFFF));
    const auto odd = hn::And(upper, hn::Set(di, 1));
    const auto moved = hn::Add(bits, hn::Add(hn::Set(di, 0x7FFF), odd));
    const auto rounded = hn::And(hn::ShiftRight<16>(moved), hn::Set(di, 0xFFFF));
    const auto magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
    const auto is_nan = hn::Gt(magnitude, hn::Set(di, 0x7F800000));
    const auto result = hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(di, 0x40)), rounded);
    const hn::Rebind<std::uint16_t, decltype(di)> narrow;
    hn::StoreU(hn::DemoteTo(narrow, result), narrow, &y[i].bits);
  });
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {

HWY_EXPORT(to_bf16_row);

void to_bf16_row(const float* x, dim_t n, bf16_t* y) { HWY_DYNAMIC_DISPATCH(to_bf16_row)(x, n, y); }

}  // namespace dsf
#endif
