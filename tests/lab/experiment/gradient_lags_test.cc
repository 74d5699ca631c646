#include "lab/experiment/gradient_lags.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "dsf/run/config_file.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

class GradientLags : public ::testing::Test {
 protected:
  RunConfig config(const std::vector<std::string>& more) const {
    std::vector<std::string> settings = {"data.corpus=" + corpus_.string(),
                                         "data.context=6",
                                         "model.hidden=12",
                                         "model.layers=2",
                                         "train.batch=8",
                                         "train.precision=f32"};
    settings.insert(settings.end(), more.begin(), more.end());
    return with_assignments(RunConfig(), parse_assignments(settings));
  }

  std::vector<MethodLags> compare(const RunConfig& config, std::vector<std::string> methods) const {
    const Dataset data = load_dataset(config.data, 1);
    const LanguageModel model(config.model, config.feedback, data.tokenizer->vocab_size(), 1);
    return compare_lags(config, data, model, {std::move(methods), 2, "train"});
  }

  TempDirectory directory_;
  std::filesystem::path corpus_ = directory_.write("text.txt", small_text(150));
};

// Six corrections are exact for sequences of at most seven steps. Lag 0 goes back through no time:
// all methods agree there. Without feedback nothing arrives at any other lag.
TEST_F(GradientLags, ExactMethodsAgreeAtAllLagsAndTruncationAtNoneButZero) {
  for (const char* block : {"plain", "transformer"}) {
    for (const char* cell : {"gru", "lstm", "rnn"}) {
      const auto methods =
          compare(config({std::string("model.block=") + block, std::string("model.mixer=") + cell}),
                  {"bptt", "iterated:6", "ft", "dsf"});
      ASSERT_EQ(methods.size(), 4U);
      for (const MethodLags& method : methods) {
        ASSERT_EQ(method.blocks.size(), 2U);
        for (const auto& rows : method.blocks) {
          ASSERT_EQ(rows.back().lag, 4) << "six steps: the lags are 0, 1, 2, 4";
          for (const LagAgreement& row : rows) {
            const std::string where = method.method + " " + cell + fmt::to_string(row.lag);
            const bool exact = method.method == "bptt" || method.method == "iterated:6";
            EXPECT_GT(row.exact_norm, 0.0) << where;
            // f32 sums in another order: 1e-4 of the norm leaves 1 - 1e-8 of the cosine.
            if (exact || row.lag == 0) {
              EXPECT_NEAR(row.cosine, 1.0, 1e-6) << where;
              EXPECT_NEAR(row.norm_ratio, 1.0, 1e-3) << where;
            } else if (method.method == "ft") {
              EXPECT_EQ(row.norm_ratio, 0.0) << where;
            } else {
              EXPECT_LT(row.cosine, 1.0 - 1e-6) << where;
            }
          }
        }
      }
    }
  }
}

// The fitted diagonal comes from its calibration: without it nothing would arrive.
TEST_F(GradientLags, FittedMethodsAreCalibratedFirst) {
  const auto methods = compare(config({}), {"adaptive"});
  EXPECT_GT(methods[0].blocks[0][1].norm_ratio, 0.0);
  EXPECT_GT(methods[0].blocks[0][1].cosine, 0.0);
}

TEST_F(GradientLags, ModelsWithoutFeedbackAreRefused) {
  EXPECT_THROW(compare(config({"model.mixer=ema"}), {"ft"}), ConfigError);
}

}  // namespace
}  // namespace dsf
