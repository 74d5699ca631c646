#include "lab/bench/scan.h"

#include <gtest/gtest.h>

#include <set>

#include "dsf/base/error.h"

namespace dsf {
namespace {

TEST(BenchScan, EveryFormAndLengthStandsBesideTheTriad) {
  BenchOptions options;
  options.steps = {4, 64, 1000};  // 1000 does not divide the tokens
  options.tokens = 4096;
  options.hidden = {8};
  options.seconds = 0.1;
  const BenchReport report = bench_scan(options);
  ASSERT_EQ(report.results.size(), 9U);
  std::set<std::string> forms;
  for (const auto& result : report.results) {
    forms.insert(result.at("form").get<std::string>());
    EXPECT_LE(result.at("steps").get<dim_t>() * result.at("batch").get<dim_t>(), 4096);
    const double rate = result.at("gb_per_second").get<double>();
    const double triad = result.at("triad_gb_per_second").get<double>();
    EXPECT_GT(rate, 0.0);
    EXPECT_DOUBLE_EQ(result.at("fraction_of_triad").get<double>(), rate / triad);
  }
  EXPECT_EQ(forms, (std::set<std::string>{"serial", "blocked", "fft"}));
}

TEST(BenchScan, UnknownFormIsWrongUse) {
  BenchOptions options;
  options.only = {"cereal"};
  EXPECT_THROW(bench_scan(options), UsageError);
}

}  // namespace
}  // namespace dsf
