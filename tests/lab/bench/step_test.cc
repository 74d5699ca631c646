#include "lab/bench/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "dsf/base/error.h"
#include "lab/bench/length.h"

namespace dsf {
namespace {

StepConfig tiny(const std::string& block) {
  StepConfig config{"tiny", {}, 30, 4, 5};
  config.model.hidden = 16;
  config.model.layers = 2;
  config.model.block = parse_choice<BlockKind>("model.block", block);
  return config;
}

BenchOptions short_time() {
  BenchOptions options;
  options.seconds = 0.1;
  return options;
}

void expect_fixed_names(const nlohmann::ordered_json& result) {
  for (const char* text : {"config", "method", "precision"}) {
    EXPECT_TRUE(result.at(text).is_string()) << text;
  }
  for (const char* number :
       {"tokens_per_second", "step_ms", "gemm_limit_ms", "fraction_of_limit", "fraction_of_peak"}) {
    EXPECT_GT(result.at(number).get<double>(), 0.0) << number;
  }
  EXPECT_TRUE(result.at("peak_mb").is_number());
}

TEST(BenchStep, ReportsEveryMethodAndPrecisionUnderTheFixedNames) {
  const BenchReport report = bench_step({tiny("plain"), tiny("transformer")}, short_time());
  ASSERT_EQ(report.results.size(), 2U * 2U * 3U);
  std::set<std::string> seen;
  for (const auto& result : report.results) {
    expect_fixed_names(result);
    seen.insert(result.at("method").get<std::string>() + result.at("precision").get<std::string>());
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(report.tables.at(0).rows().size(), report.results.size());
}

TEST(BenchStep, FiguresOfAResultAgreeWithEachOther) {
  BenchOptions options = short_time();
  options.methods = {"dsf"};
  options.precisions = {Precision::f32};
  options.profile = true;
  const auto result = bench_step({tiny("plain")}, options).results.at(0);
  const double step = result.at("step_ms").get<double>();
  const double tokens = result.at("batch").get<double>() * result.at("steps").get<double>();
  // Milliseconds are rounded to the microsecond, which is a part of 1/step_ms.
  const double rounding = 2e-3 / step;
  EXPECT_NEAR(result.at("tokens_per_second").get<double>() * step / 1e3 / tokens, 1.0, rounding);
  EXPECT_NEAR(result.at("fraction_of_limit").get<double>() * step /
                  result.at("gemm_limit_ms").get<double>(),
              1.0, rounding + 2e-3 / result.at("gemm_limit_ms").get<double>());
  EXPECT_NEAR(result.at("fraction_of_peak").get<double>() * step * 1e-3 *
                  result.at("peak_gflops").get<double>() / result.at("gemm_gflop").get<double>(),
              1.0, rounding);
  EXPECT_LT(result.at("fraction_of_peak").get<double>(), 1.0);
  for (const auto& job : result.at("gemms")) EXPECT_NE(job.at("name"), "cell U back");
}

TEST(BenchStep, UnknownNamesAreWrongUse) {
  BenchOptions options = short_time();
  options.only = {"ptb_3L265"};
  EXPECT_THROW(bench_step(options), UsageError);
  options.only.clear();
  options.methods = {"rtrl"};
  EXPECT_THROW(bench_step({tiny("plain")}, options), UsageError);
}

TEST(BenchStep, ConfigurationsHaveTheNamesAndSizesOfThePaper) {
  ASSERT_EQ(step_configs().size(), 2U);
  EXPECT_EQ(step_configs()[0].name, "ptb_3L256");
  EXPECT_EQ(step_configs()[1].name, "wikitext_3L512");
  EXPECT_EQ(step_configs()[1].vocab, 16000);
}

TEST(BenchLength, EveryLengthHasTheSameTokensAndARelativeCost) {
  BenchOptions options = short_time();
  options.steps = {4, 16, 64};
  options.tokens = 64;
  options.precisions = {Precision::f32};
  const BenchReport report = bench_length({tiny("plain")}, options);
  ASSERT_EQ(report.results.size(), 3U);
  for (const auto& result : report.results) {
    EXPECT_EQ(result.at("tokens"), 64);
    EXPECT_GT(result.at("us_per_token").get<double>(), 0.0);
  }
  EXPECT_EQ(report.results[0].at("relative_cost"), 1.0);
  EXPECT_EQ(report.results[2].at("batch"), 1);
}

}  // namespace
}  // namespace dsf
