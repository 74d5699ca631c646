#include "lab/bench/stream_triad.h"

#include <algorithm>

#include "dsf/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lab/bench/stream_triad.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for every target.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void triad_range(const float* b, const float* c, float s, dim_t n, float* a) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<dim_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, s);
  dim_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::Stream(hn::MulAdd(factor, hn::Load(d, c + i), hn::Load(d, b + i)), d, a + i);
  }
  for (; i < n; ++i) a[i] = b[i] + s * c[i];
  hwy::FlushStream();
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {

HWY_EXPORT(triad_range);

void stream_triad(std::span<const float> b, std::span<const float> c, float s, std::span<float> a) {
  constexpr dim_t kGrain = dim_t{1} << 18;  // a megabyte of each: long runs for the prefetchers
  parallel_ranges(static_cast<dim_t>(a.size()), kGrain, [&](dim_t begin, dim_t end) {
    HWY_DYNAMIC_DISPATCH(triad_range)
    (b.data() + begin, c.data() + begin, s, end - begin, a.data() + begin);
  });
}

}  // namespace dsf
#endif  // HWY_ONCE
