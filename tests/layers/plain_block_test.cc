#include "dsf/layers/plain_block.h"

#include <gtest/gtest.h>

#include "dsf/layers/attention.h"
#include "dsf/layers/ema.h"
#include "tests/reference/reference_attention.h"
#include "tests/reference/reference_ema.h"
#include "tests/support/mixer_run.h"

namespace dsf::testing {
namespace {

constexpr dim_t kWidth = 6;
const PackedLayout kLayout({3, 3, 2, 1, 1});

class PlainBlockTest : public ::testing::TestWithParam<bool> {};

TEST_P(PlainBlockTest, MatchesReferenceAroundAMixerOfItsWidth) {
  const bool skip = GetParam();
  ParameterTable table;
  PlainBlock block(table, "", kWidth, skip, 0.02F,
                   std::make_unique<Attention>(table, "mixer.", kWidth, 2, 0.02F));
  expect_matches(block, table, kLayout, kWidth, [&](const auto& parameters, const auto& x) {
    const auto y = reference::attention(parameters, "mixer.", 2, kLayout, x);
    return skip ? y + x : y;
  });
}

TEST_P(PlainBlockTest, MatchesReferenceAroundAWiderMixer) {
  const bool skip = GetParam();
  ParameterTable table;
  PlainBlock block(table, "", kWidth, skip, 0.02F,
                   std::make_unique<Ema>(table, "mixer.", kWidth, 2 * kWidth, 2, 0.02F));
  expect_matches(block, table, kLayout, kWidth, [&](const auto& parameters, const auto& x) {
    const auto y = reference::linear(parameters, "proj.",
                                     reference::ema(parameters, "mixer.", kLayout, {}, x));
    return skip ? y + x : y;
  });
}

TEST(PlainBlock, AddsAProjectionOnlyWhereTheWidthsDiffer) {
  ParameterTable same;
  const PlainBlock narrow(same, "", kWidth, true, 0.02F,
                          std::make_unique<Attention>(same, "mixer.", kWidth, 2, 0.02F));
  EXPECT_EQ(same.parameter_count(), 3 * kWidth * (kWidth + 1));
  ParameterTable wider;
  auto mixer = std::make_unique<Ema>(wider, "mixer.", kWidth, 2 * kWidth, 2, 0.02F);
  const dim_t of_mixer = wider.parameter_count();
  const PlainBlock wide(wider, "", kWidth, true, 0.02F, std::move(mixer));
  EXPECT_EQ(wider.parameter_count() - of_mixer, 2 * kWidth * kWidth + kWidth);
  EXPECT_EQ(wide.output_width(), kWidth);
}

INSTANTIATE_TEST_SUITE_P(Skip, PlainBlockTest, ::testing::Bool());

}  // namespace
}  // namespace dsf::testing
