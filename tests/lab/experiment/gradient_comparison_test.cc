#include "lab/experiment/gradient_comparison.h"

#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "dsf/run/config_file.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

TEST(GradientAgreement, IsCosineAndRatioOfNorms) {
  const std::vector<float> exact = {3.0F, 4.0F};
  const GradientAgreement twice = agreement("w", std::vector<float>{6.0F, 8.0F}, exact);
  EXPECT_EQ(twice.parameter, "w");
  EXPECT_NEAR(twice.cosine, 1.0, 1e-12);
  EXPECT_NEAR(twice.norm_ratio, 2.0, 1e-12);
  const GradientAgreement across = agreement("w", std::vector<float>{-4.0F, 3.0F}, exact);
  EXPECT_NEAR(across.cosine, 0.0, 1e-12);
  EXPECT_NEAR(across.norm_ratio, 1.0, 1e-12);
  const GradientAgreement nothing = agreement("w", std::vector<float>{0.0F, 0.0F}, exact);
  EXPECT_EQ(nothing.cosine, 0.0);
  EXPECT_EQ(nothing.norm_ratio, 0.0);
}

class GradientComparison : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<MethodAgreement> compare(std::vector<std::string> methods) {
    const RunConfig config = with_assignments(
        RunConfig(), parse_assignments({"data.corpus=" + corpus_.string(),
                                        std::string("data.batching=") + GetParam(),
                                        "data.context=6", "model.hidden=12", "model.layers=2",
                                        "train.batch=8", "train.precision=f32"}));
    const Dataset data = load_dataset(config.data, 1);
    const LanguageModel model(config.model, config.feedback, data.tokenizer->vocab_size(), 1);
    GradientComparisonOptions options;
    options.methods = std::move(methods);
    options.batches = 2;
    return compare_gradients(config, data, model, options);
  }
  TempDirectory directory_;
  std::filesystem::path corpus_ = directory_.write("text.txt", small_text(150));
};
INSTANTIATE_TEST_SUITE_P(Batchings, GradientComparison,
                         ::testing::Values("sentences", "blocks", "stream"));

// Sequences of at most 7 steps: six corrections are exact. The rest may not be, and the head, which
// no gradient reaches through time, always is.
TEST_P(GradientComparison, ExactMethodsAgreeWithBptt) {
  const auto methods = compare({"bptt", "iterated:6", "ft", "dsf", "gated", "adaptive"});
  ASSERT_EQ(methods.size(), 6U);
  for (const MethodAgreement& method : methods) {
    const bool exact = method.method == "bptt" || method.method == "iterated:6";
    const GradientAgreement& total = method.parameters.back();
    EXPECT_EQ(total.parameter, "total");
    EXPECT_EQ(total.cosine > 1.0 - 1e-6, exact) << method.method << " " << total.cosine;
    for (const GradientAgreement& one : method.parameters) {
      if (exact || one.parameter.starts_with("head.")) {
        EXPECT_NEAR(one.cosine, 1.0, 1e-6) << method.method << " " << one.parameter;
        EXPECT_NEAR(one.norm_ratio, 1.0, 1e-4) << method.method << " " << one.parameter;
      }
    }
  }
}

// A layer's row is its parameters together: no cosine of its own, but that of all of them.
TEST_P(GradientComparison, LayersAreTheirParametersTogether) {
  const auto methods = compare({"bptt", "ft"});
  std::vector<std::string> names;
  for (const GradientAgreement& row : methods[1].layers) names.push_back(row.parameter);
  EXPECT_EQ(names,
            (std::vector<std::string>{"embedding", "blocks.0", "blocks.1", "head", kRecurrentRow}));
  for (const GradientAgreement& row : methods[0].layers) EXPECT_NEAR(row.cosine, 1.0, 1e-6);
  EXPECT_LT(row_named(methods[1].layers, kRecurrentRow)->cosine, 1.0 - 1e-6);
  EXPECT_NEAR(row_named(methods[1].layers, "head")->cosine, 1.0, 1e-6);
  EXPECT_FALSE(row_named(methods[1].layers, "tail"));
}

TEST_P(GradientComparison, UnknownMethodIsRefused) { EXPECT_THROW(compare({"rtrl"}), ConfigError); }

TEST(GradientTable, HasARowForEachParameterAndTwoColumnsForEachMethod) {
  const Table table = gradient_table({{"ft", {{"w", 0.5, 0.25}, {"total", 0.75, 1.0}}},
                                      {"dsf", {{"w", 0.6, 0.35}, {"total", 0.85, 1.1}}}});
  EXPECT_EQ(table.headings(),
            (std::vector<std::string>{"parameter", "ft cos", "norm", "dsf cos", "norm"}));
  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(table.rows()[1],
            (std::vector<std::string>{"total", "0.7500", "1.000", "0.8500", "1.100"}));
}

}  // namespace
}  // namespace dsf
