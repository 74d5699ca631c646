#include "lab/bench/stream_triad.h"

#include <gtest/gtest.h>

#include "dsf/base/buffer.h"

namespace dsf {
namespace {

// Several tasks, and a last vector that is not full. The numbers are small integers: exact.
TEST(StreamTriad, AddsTheScaledSpanEverywhere) {
  constexpr dim_t kSize = (dim_t{1} << 19) + 13;
  Buffer<float> a(kSize);
  Buffer<float> b(kSize);
  Buffer<float> c(kSize);
  for (dim_t i = 0; i < kSize; ++i) {
    b[i] = static_cast<float>(i % 1000);
    c[i] = static_cast<float>(i % 7);
  }
  stream_triad(b.span(), c.span(), 3.0F, a.span());
  for (dim_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(a[i], static_cast<float>(i % 1000 + 3 * (i % 7))) << i;
  }
}

}  // namespace
}  // namespace dsf
