#include "dsf/base/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "dsf/base/rng.h"

namespace dsf {
namespace {

bf16_t from_bits(std::uint32_t bits) { return {static_cast<std::uint16_t>(bits)}; }

TEST(Bf16, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float x = to_float(from_bits(bits));
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(x)))) << bits;
    } else {
      EXPECT_EQ(to_bf16(x).bits, bits);
    }
  }
}

// Over all neighbours 0 <= lower < upper <= infinity: below the middle down, above it up, on it to
// the even one. (Up to infinity IEEE rounding works on the bits alone, so no case is special.)
TEST(Bf16, RoundsToNearestTiesToEven) {
  for (std::uint32_t lower = 0; lower < 0x7F80; ++lower) {
    const std::uint32_t middle = (lower << 16U) + 0x8000U;
    const std::uint32_t even = lower + (lower & 1U);
    EXPECT_EQ(to_bf16(std::bit_cast<float>(middle - 1)).bits, lower);
    EXPECT_EQ(to_bf16(std::bit_cast<float>(middle)).bits, even);
    EXPECT_EQ(to_bf16(std::bit_cast<float>(middle + 1)).bits, lower + 1);
  }
}

TEST(Bf16, IsSymmetric) {
  Rng rng(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto x = static_cast<float>(rng.normal());
    EXPECT_EQ(to_float(to_bf16(-x)), -to_float(to_bf16(x)));
  }
}

// 8 bits of precision: the relative error of a normal number is at most 2^-9 / (1 + 2^-9) < 2^-8.
TEST(Bf16, RelativeErrorIsHalfAUnitInTheLastPlace) {
  Rng rng(2);
  for (int i = 0; i < 10'000; ++i) {
    const float x = std::ldexp(static_cast<float>(rng.uniform(1.0, 2.0)),
                               static_cast<int>(rng.below(200)) - 100);
    EXPECT_LE(std::abs(to_float(to_bf16(x)) - x), std::ldexp(x, -8));
  }
}

TEST(Bf16, KeepsInfinityAndNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_float(to_bf16(kInfinity)), kInfinity);
  EXPECT_EQ(to_float(to_bf16(-kInfinity)), -kInfinity);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
  // A NaN whose payload lies in the lost half only must not turn into infinity.
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::bit_cast<float>(0x7F800001U)))));
}

TEST(Bf16, LargestFloatRoundsToInfinity) {
  EXPECT_TRUE(std::isinf(to_float(to_bf16(std::numeric_limits<float>::max()))));
}

}  // namespace
}  // namespace dsf
