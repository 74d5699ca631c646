// The loop every Highway kernel here runs. Included once per target: no #pragma once, but the guard
// that Highway's own -inl headers use.
//
//   for_each_lane_group(n, body)    calls body(d, i) with whole vectors, then with single lanes
//
// so that the body is written once, for any tag d, and never reads or writes beyond n elements.

#if defined(DSF_KERNELS_SIMD_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DSF_KERNELS_SIMD_LOOP_INL_H_
#undef DSF_KERNELS_SIMD_LOOP_INL_H_
#else
#define DSF_KERNELS_SIMD_LOOP_INL_H_
#endif

#include "dsf/base/dim.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using VectorTag = hn::ScalableTag<float>;
using LaneTag = hn::CappedTag<float, 1>;

template <typename Body>
HWY_INLINE void for_each_lane_group(dim_t n, const Body& body) {
  const VectorTag d;
  const auto lanes = static_cast<dim_t>(hn::Lanes(d));
  dim_t i = 0;
  for (; i + lanes <= n; i += lanes) body(d, i);
  for (; i < n; ++i) body(LaneTag(), i);
}

/// sum_i term(d, i) in a fixed order: four vectors of running sums (one would wait for each
/// addition to end before the next can start), then their lanes, then the single elements left
/// over.
template <typename Term>
HWY_INLINE float sum_lane_groups(dim_t n, const Term& term) {
  const VectorTag d;
  const auto lanes = static_cast<dim_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  dim_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum0 = hn::Add(sum0, term(d, i));
    sum1 = hn::Add(sum1, term(d, i + lanes));
    sum2 = hn::Add(sum2, term(d, i + 2 * lanes));
    sum3 = hn::Add(sum3, term(d, i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) sum0 = hn::Add(sum0, term(d, i));
  sum0 = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  float sum = hn::GetLane(hn::SumOfLanes(d, sum0));
  for (; i < n; ++i) sum += hn::GetLane(term(LaneTag(), i));
  return sum;
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
