#include "dsf/kernels/bf16_rows.h"

#include <bit>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace dsf {
namespace {

// Every upper half of a float, NaNs and infinities among them, with lower halves around the tie.
TEST(Bf16Row, HasTheBitsOfToBf16) {
  for (const std::uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
    std::vector<float> x;
    for (std::uint32_t upper = 0; upper <= 0xFFFFU; ++upper) {
      x.push_back(std::bit_cast<float>(upper << 16U | lower));
    }
    x.pop_back();  // an odd number: the last ones one by one
    std::vector<bf16_t> y(x.size() + 1, bf16_t{77});
    to_bf16_row(x.data(), static_cast<dim_t>(x.size()), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(y[i].bits, to_bf16(x[i]).bits) << std::bit_cast<std::uint32_t>(x[i]);
    }
    EXPECT_EQ(y.back().bits, 77);
  }
}

}  // namespace
}  // namespace dsf
