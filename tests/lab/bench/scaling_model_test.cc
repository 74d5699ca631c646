#include "lab/bench/scaling_model.h"

#include <gtest/gtest.h>

#include "dsf/dist/single_process.h"
#include "lab/bench/scale.h"

namespace dsf {
namespace {

const Network kNetwork = {"a byte a microsecond", 8e-3, 1e-6};

// 100 bytes, four ranks: six messages of 25 bytes.
TEST(ScalingModel, EveryRankSendsEveryOtherItsPartTwice) {
  EXPECT_NEAR(all_reduce_seconds(kNetwork, AllReduce::direct, 100.0, 4), 6.0 * (1e-6 + 25e-6),
              1e-12);
  EXPECT_NEAR(all_reduce_seconds(kNetwork, AllReduce::halving, 100.0, 4), 4e-6 + 150e-6, 1e-12);
  EXPECT_EQ(all_reduce_seconds(kNetwork, AllReduce::direct, 100.0, 1), 0.0);
}

TEST(ScalingModel, BucketWaitsForItselfAndForTheOneBefore) {
  // Each bucket takes 2 (1e-6 + 50e-6) = 102 us with two ranks.
  const StepProfile profile{1000e-6, 800e-6, {{100.0, 300e-6}, {100.0, 310e-6}, {100.0, 800e-6}}};
  const ModelledStep step = model_step(profile, kNetwork, AllReduce::direct, 2);
  EXPECT_NEAR(step.communication, 306e-6, 1e-12);
  EXPECT_NEAR(step.exposed, 102e-6, 1e-12) << "only the last one";
  EXPECT_NEAR(step.efficiency, 1000.0 / 1102.0, 1e-9);
}

TEST(ScalingModel, FasterRanksHideLess) {
  const StepProfile profile{1000e-6, 800e-6, {{100.0, 500e-6}, {100.0, 800e-6}}};
  const StepProfile faster = profile.faster(10.0);
  EXPECT_NEAR(faster.step, 100e-6, 1e-12);
  EXPECT_NEAR(model_step(faster, kNetwork, AllReduce::direct, 2).exposed, 50e-6 + 204e-6 - 80e-6,
              1e-12);
}

TEST(ScalingModel, SlowNetworkExposesWhatTheBackwardPassCannotHide) {
  const StepProfile profile{1000e-6, 400e-6, {{100.0, 300e-6}, {100.0, 310e-6}}};
  EXPECT_NEAR(model_step(profile, kNetwork, AllReduce::direct, 2).exposed, 104e-6, 1e-12);
  EXPECT_EQ(model_step(profile, kNetwork, AllReduce::direct, 1).efficiency, 1.0);
}

TEST(BenchScale, MeasuredAndModelledLinesSayWhichTheyAre) {
  StepConfig config;
  config.name = "tiny";
  config.model.hidden = 8;
  config.vocab = 20;
  config.batch = 4;
  config.steps = 6;
  BenchOptions options;
  options.seconds = 0.1;
  const BenchReport report = bench_scale({config}, options, single_process());
  ASSERT_FALSE(report.results.empty());
  EXPECT_EQ(report.results[0]["modelled"], false);
  EXPECT_EQ(report.results[0]["ranks"], 1);
  EXPECT_EQ(report.results[0]["exposed_ms"], 0.0);
  for (std::size_t i = 1; i < report.results.size(); ++i) {
    EXPECT_EQ(report.results[i]["modelled"], true);
    EXPECT_GT(report.results[i]["ranks"], 1);
    EXPECT_LE(report.results[i]["efficiency"].get<double>(), 1.0);
  }
  EXPECT_EQ(report.results.back()["ranks"], 1024);
}

}  // namespace
}  // namespace dsf
