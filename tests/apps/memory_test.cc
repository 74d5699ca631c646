// The estimate of `dsf info` beside what a training really took.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

using nlohmann::json;

struct MemoryCase {
  const char* name;
  Words settings;
};

class TrainingMemory : public ProgramTest, public ::testing::WithParamInterface<MemoryCase> {
 protected:
  // Enough words for a whole batch of each case.
  TrainingMemory() : ProgramTest(4000) {}

  std::string run(const Words& words) const {
    const Words of_the_case = sets(GetParam().settings);
    return run_ok(joined(joined(words, of_the_case), {"--data", path("text.txt")}));
  }

  double measured_mb() const {
    run({"train", "--out", path("run"), "--steps", "2", "--quiet"});
    return log_of("run").back().at("peak_mb").get<double>();
  }

  double estimated_mb() const {
    directory_.write("empty.toml", "");
    const json info = json::parse(run({"info", "--config", path("empty.toml"), "--json"}));
    return info.at("peak_mb").get<double>();
  }
};

const std::vector<MemoryCase> kCases = {
    {"SmallGru", {"model.hidden=64", "train.batch=16", "train.precision=f32"}},
    {"Sentences", {"model.hidden=512", "model.layers=2", "train.batch=512", "train.precision=f32"}},
    {"IteratedLstm",
     {"model.mixer=lstm", "model.hidden=256", "train.batch=64", "data.batching=blocks",
      "data.context=64", "feedback.method=iterated:1", "train.precision=f32"}},
    {"TransformerBlocks",
     {"model.mixer=gru", "model.hidden=512", "model.layers=3", "model.block=transformer",
      "train.batch=32", "data.batching=blocks", "data.context=64", "train.precision=f32"}},
    {"RebuiltGates",
     {"model.mixer=gru", "model.hidden=256", "model.layers=4", "model.recompute=true",
      "train.batch=64", "data.batching=blocks", "data.context=64", "train.precision=f32"}},
    {"Attention",
     {"model.mixer=attention", "model.hidden=256", "model.layers=2", "model.block=transformer",
      "train.batch=32", "data.batching=blocks", "data.context=64", "train.precision=f32"}},
    {"Ema",
     {"model.mixer=ema", "model.hidden=256", "model.layers=2", "model.block=transformer",
      "train.batch=32", "data.batching=blocks", "data.context=64", "train.precision=f32"}},
    {"AttentionOverALongContext",
     {"model.mixer=attention", "model.hidden=32", "model.layers=6", "model.block=transformer",
      "train.batch=1", "data.batching=blocks", "data.context=4096", "train.precision=f32"}},
    {"FftOverALongContext",
     {"model.mixer=gru", "model.hidden=64", "model.layers=4", "feedback.scan=fft", "train.batch=1",
      "data.batching=blocks", "data.context=8192", "train.precision=f32"}},
    {"Rounded",
     {"model.mixer=gru", "model.hidden=256", "model.layers=3", "train.batch=64",
      "data.batching=blocks", "data.context=64", "train.precision=bf16"}},
};
INSTANTIATE_TEST_SUITE_P(Cases, TrainingMemory, ::testing::ValuesIn(kCases),
                         [](const auto& suite) { return std::string(suite.param.name); });

// What is promised of the estimate: 15 %.
TEST_P(TrainingMemory, EstimateIsWithinFifteenPercent) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is several times that of the program";
#endif
  const double measured = measured_mb();
  const double estimated = estimated_mb();
  EXPECT_NEAR(estimated / measured, 1.0, 0.15) << estimated << " MB, measured " << measured;
}

TEST(TrainingMemoryBound, IsGivenWithoutText) {
  const TempDirectory directory;
  directory.write("small.toml", "[data]\nvocab = 50\n");
  const ProgramResult info = run_dsf({"info", "--config", directory / "small.toml", "--json"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const json report = json::parse(info.out);
  EXPECT_GT(report.at("peak_mb").get<double>(), 0.0);
  EXPECT_NE(report.at("peak_mb_is").get<std::string>().find("upper bound"), std::string::npos);
}

// More bytes than 64 bits can count. A token takes at least its embedding, 64 numbers of 4 bytes.
TEST(TrainingMemoryBound, IsGivenForTheLargestBatches) {
  const Words largest = {"train.batch=1000000000", "data.context=1000000000", "data.vocab=1000",
                         "model.hidden=64"};
  const ProgramResult info = run_dsf(joined({"info", "--json"}, sets(largest)));
  ASSERT_EQ(info.exit_code, 0) << info.err;
  EXPECT_GT(json::parse(info.out).at("peak_mb").get<double>(), 1e9 * 1e9 * 64.0 * 4.0 / 1e6);
}

}  // namespace
}  // namespace dsf
