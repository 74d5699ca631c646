// Rounding to bf16 in vectors. Included once per target: no #pragma once, but the guard that
// Highway's own -inl headers use.

#if defined(DSF_KERNELS_BF16_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DSF_KERNELS_BF16_ROWS_INL_H_
#undef DSF_KERNELS_BF16_ROWS_INL_H_
#else
#define DSF_KERNELS_BF16_ROWS_INL_H_
#endif

#include <cstdint>

#include "dsf/base/bf16.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// y_j = to_bf16(x_j) for all lanes of x, the same bits. Half a unit of the last place that stays is
/// added, less one bit if that place is even; then the lower half is cut off. A NaN keeps its
/// upper half and is made quiet.
template <class D, class V>
HWY_INLINE void store_as_bf16(D /*d*/, V x, bf16_t* y) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto upper = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0xFFFF));
  const auto odd = hn::And(upper, hn::Set(di, 1));
  const auto moved = hn::Add(bits, hn::Add(hn::Set(di, 0x7FFF), odd));
  const auto rounded = hn::And(hn::ShiftRight<16>(moved), hn::Set(di, 0xFFFF));
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
  const auto is_nan = hn::Gt(magnitude, hn::Set(di, 0x7F800000));
  const auto result = hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(di, 0x40)), rounded);
  const hn::Rebind<std::uint16_t, decltype(di)> narrow;
  hn::StoreU(hn::DemoteTo(narrow, result), narrow, &y->bits);
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
