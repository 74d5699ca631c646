#include "dsf/layers/attention.h"

#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "dsf/kernels/causal_attention.h"
#include "tests/reference/reference_attention.h"
#include "tests/support/mixer_run.h"

namespace dsf::testing {
namespace {

auto attention_equation(dim_t heads, const PackedLayout& layout) {
  return [heads, &layout](const auto& parameters, const auto& x) {
    return reference::attention(parameters, "", heads, layout, x);
  };
}

void expect_attention_matches(dim_t width, dim_t heads, const PackedLayout& layout,
                              bool consistent) {
  ParameterTable table;
  Attention attention(table, "", width, heads, 0.02F);
  expect_matches(attention, table, layout, width, attention_equation(heads, layout), consistent);
}

TEST(Attention, MatchesReferenceForSequencesOfDifferentLengths) {
  expect_attention_matches(8, 2, PackedLayout({4, 4, 3, 2, 2, 1, 1}), true);
}

TEST(Attention, MatchesReferenceWithEightHeads) {
  expect_attention_matches(16, Attention::kDefaultHeads, PackedLayout::uniform(5, 2), false);
}

TEST(Attention, MatchesReferenceOverSeveralTilesOfQueries) {
  std::vector<dim_t> rows(static_cast<std::size_t>(2 * kAttentionTile + 9), 2);
  for (dim_t t = kAttentionTile + 1; t < static_cast<dim_t>(rows.size()); ++t) {
    rows[static_cast<std::size_t>(t)] = 1;
  }
  expect_attention_matches(4, 2, PackedLayout(rows), false);
}

TEST(Attention, MatchesReferenceForASingleToken) {
  expect_attention_matches(4, 1, PackedLayout::uniform(1, 3), false);
}

TEST(Attention, LargeScoresDoNotOverflow) {
  constexpr dim_t kWidth = 8;
  ParameterTable table;
  Attention attention(table, "", kWidth, 2, 0.02F);
  ParameterValues weights = random_weights(table, 1);
  for (float& weight : weights.mutable_span()) weight *= 40.0F;  // scores of several thousand
  const PackedLayout layout = PackedLayout::uniform(6, 2);
  const RandomMatrix x(layout.total_rows(), kWidth, 2);
  const RandomMatrix dy(layout.total_rows(), kWidth, 3);
  const MixerResult result = run_mixer(attention, table, weights, layout, x.view(), dy.view());
  for (const double value : result.y.values) EXPECT_TRUE(std::isfinite(value));
  for (const double value : result.dx.values) EXPECT_TRUE(std::isfinite(value));
}

TEST(Attention, RefusesHeadsThatDoNotDivideTheWidth) {
  ParameterTable table;
  EXPECT_THROW(Attention(table, "", 10, 4, 0.02F), ConfigError);
  EXPECT_THROW(Attention(table, "", 10, 0, 0.02F), ConfigError);
}

}  // namespace
}  // namespace dsf::testing
