#include "dsf/layers/transformer_block.h"

#include <gtest/gtest.h>

#include "dsf/layers/attention.h"
#include "dsf/layers/ema.h"
#include "dsf/layers/embedding.h"
#include "dsf/layers/softmax_head.h"
#include "tests/reference/reference_attention.h"
#include "tests/reference/reference_ema.h"
#include "tests/support/mixer_run.h"

namespace dsf::testing {
namespace {

constexpr dim_t kWidth = 6;
constexpr float kDeviation = 0.02F;
constexpr float kProjectionDeviation = 0.01F;

class TransformerBlockTest : public ::testing::TestWithParam<bool> {};

void expect_ema_block_matches(bool skip, dim_t width, const PackedLayout& layout, bool consistent) {
  ParameterTable table;
  auto mixer = std::make_unique<Ema>(table, "mixer.", width, 2 * width + 1, 2, kDeviation);
  TransformerBlock block(table, "", width, skip, kDeviation, kProjectionDeviation,
                         std::move(mixer));
  const auto equation = [&](const auto& parameters, const auto& x) {
    return reference::transformer_block(parameters, "", skip, x, [&](const auto& normed) {
      return reference::ema(parameters, "mixer.", layout, {}, normed);
    });
  };
  expect_matches(block, table, layout, width, equation, consistent);
}

TEST_P(TransformerBlockTest, MatchesReferenceAroundAttention) {
  const bool skip = GetParam();
  const PackedLayout layout({3, 3, 2, 1, 1});
  ParameterTable table;
  TransformerBlock block(table, "", kWidth, skip, kDeviation, kProjectionDeviation,
                         std::make_unique<Attention>(table, "mixer.", kWidth, 2, kDeviation));
  const auto equation = [&](const auto& parameters, const auto& x) {
    return reference::transformer_block(parameters, "", skip, x, [&](const auto& normed) {
      return reference::attention(parameters, "mixer.", 2, layout, normed);
    });
  };
  expect_matches(block, table, layout, kWidth, equation);
}

TEST_P(TransformerBlockTest, MatchesReferenceAroundAWiderMixer) {
  expect_ema_block_matches(GetParam(), kWidth, PackedLayout({3, 3, 2, 1, 1}), true);
}

TEST_P(TransformerBlockTest, MatchesReferenceWithMoreRowsThanAChunkOfTheMlp) {
  constexpr dim_t kSequences = 350;  // 3 steps: 1050 rows, chunks have 1024
  expect_ema_block_matches(GetParam(), 3, PackedLayout::uniform(3, kSequences), false);
}

INSTANTIATE_TEST_SUITE_P(Skip, TransformerBlockTest, ::testing::Bool());

/// The paper's 3-layer model (table 4) with D = 512 and V = 16000, in millions of parameters to one
/// decimal; `make_mixer(table, prefix, width)`.
template <typename MakeMixer>
double millions_of_parameters(const MakeMixer& make_mixer) {
  constexpr dim_t kVocab = 16000;
  constexpr dim_t kHidden = 512;
  ParameterTable table;
  const Embedding embedding(table, "embedding.", kVocab, kHidden, kDeviation);
  for (int layer = 0; layer < 3; ++layer) {
    const std::string prefix = "blocks." + std::to_string(layer) + ".";
    const TransformerBlock block(table, prefix, kHidden, true, kDeviation, kProjectionDeviation,
                                 make_mixer(table, prefix + "mixer.", kHidden));
  }
  const LayerNorm norm(table, "norm.", kHidden);
  const SoftmaxHead head(table, "head.", kHidden, kVocab, kDeviation);
  return std::round(static_cast<double>(table.parameter_count()) / 1e5) / 10.0;
}

TEST(TransformerBlock, AttentionModelHasThePapersSize) {
  EXPECT_EQ(millions_of_parameters([](ParameterTable& table, const std::string& prefix, dim_t d) {
              return std::make_unique<Attention>(table, prefix, d, Attention::kDefaultHeads,
                                                 kDeviation);
            }),
            25.9);
}

TEST(TransformerBlock, EmaModelHasThePapersSize) {
  EXPECT_EQ(millions_of_parameters([](ParameterTable& table, const std::string& prefix, dim_t d) {
              return std::make_unique<Ema>(table, prefix, d, Ema::default_channels(d),
                                           Ema::kDefaultDims, kDeviation);
            }),
            28.2);
}

}  // namespace
}  // namespace dsf::testing
