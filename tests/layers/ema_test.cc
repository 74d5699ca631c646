#include "dsf/layers/ema.h"

#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "tests/reference/reference_ema.h"
#include "tests/support/mixer_run.h"

namespace dsf::testing {
namespace {

auto ema_equation(const PackedLayout& layout, const reference::Grid<double>& initial) {
  return [&layout, initial](const auto& parameters, const auto& x) {
    return reference::ema(parameters, "", layout, initial, x);
  };
}

const PackedLayout kUneven({4, 4, 3, 2, 2, 1, 1});

void expect_ema_matches(dim_t width, dim_t channels, dim_t dims, const PackedLayout& layout,
                        bool consistent) {
  ParameterTable table;
  Ema ema(table, "", width, channels, dims, 0.02F);
  expect_matches(ema, table, layout, width, ema_equation(layout, {}), consistent);
}

TEST(Ema, MatchesReferenceForSequencesOfDifferentLengths) {
  expect_ema_matches(4, 9, 3, kUneven, true);
}

TEST(Ema, MatchesReferenceWithSixteenDimensions) {
  expect_ema_matches(4, Ema::default_channels(4), Ema::kDefaultDims, kUneven, false);
}

TEST(Ema, MatchesReferenceOverSeveralBlocksOfChannels) {
  expect_ema_matches(3, 64 + 64 + 11, 2, PackedLayout({3, 3, 2}), false);
}

TEST(Ema, MatchesReferenceWithMoreSequencesThanGroups) {
  expect_ema_matches(3, 5, 2, PackedLayout({37, 36, 20, 4, 1}), false);
}

TEST(Ema, MatchesReferenceOverALongSequence) {
  expect_ema_matches(2, 3, 2, PackedLayout::uniform(300, 1), false);
}

TEST(Ema, GradientsTakeACarriedStateAsAConstant) {
  constexpr dim_t kWidth = 4;
  constexpr dim_t kChannels = 6;
  constexpr dim_t kDims = 3;
  ParameterTable table;
  Ema ema(table, "", kWidth, kChannels, kDims, 0.02F);
  const RandomMatrix initial(kUneven.batch(), kChannels * kDims, 21);
  expect_matches(ema, table, kUneven, kWidth, ema_equation(kUneven, to_grid(initial.view())), true,
                 initial.view());
}

TEST(Ema, RefusesImpossibleShapes) {
  ParameterTable table;
  EXPECT_THROW(Ema(table, "", 4, 0, 16, 0.02F), ConfigError);
  EXPECT_THROW(Ema(table, "", 4, 4, 0, 0.02F), ConfigError);
  EXPECT_THROW(Ema(table, "", 4, 4, kEmaMaxDims + 1, 0.02F), ConfigError);
}

}  // namespace
}  // namespace dsf::testing
