#include "dsf/optim/schedule.h"

#include <gtest/gtest.h>

namespace dsf {
namespace {

// cos(pi x) at the places tested here is good to a few roundings of double.
constexpr double kRounding = 1e-14;

TEST(Schedule, ConstantStaysAtThePeak) {
  const ScheduleConfig config{.kind = ScheduleKind::constant};
  EXPECT_EQ(schedule_factor(config, 0, 10, 100), 1.0);
  EXPECT_EQ(schedule_factor(config, 99, 10, 100), 1.0);
}

TEST(Schedule, StepFallsExactlyAtItsMilestones) {
  const ScheduleConfig config{.kind = ScheduleKind::step, .milestones = {10.0, 20.0}, .gamma = 0.1};
  constexpr dim_t kPerEpoch = 7;
  EXPECT_EQ(schedule_factor(config, 0, kPerEpoch, 210), 1.0);
  EXPECT_EQ(schedule_factor(config, 10 * kPerEpoch - 1, kPerEpoch, 210), 1.0);
  EXPECT_DOUBLE_EQ(schedule_factor(config, 10 * kPerEpoch, kPerEpoch, 210), 0.1);
  EXPECT_DOUBLE_EQ(schedule_factor(config, 20 * kPerEpoch - 1, kPerEpoch, 210), 0.1);
  EXPECT_DOUBLE_EQ(schedule_factor(config, 20 * kPerEpoch, kPerEpoch, 210), 0.01);
}

TEST(Schedule, StepMilestonesMayLieInsideAnEpoch) {
  const ScheduleConfig config{.kind = ScheduleKind::step, .milestones = {0.5}, .gamma = 0.5};
  EXPECT_EQ(schedule_factor(config, 4, 10, 100), 1.0);
  EXPECT_EQ(schedule_factor(config, 5, 10, 100), 0.5);
}

TEST(Schedule, CosineRisesLinearlyThenFallsToTheFloor) {
  const ScheduleConfig config{.kind = ScheduleKind::cosine, .warmup = 0.1, .floor = 0.1};
  EXPECT_DOUBLE_EQ(schedule_factor(config, 0, 10, 100), 0.1);  // the first update is not lost
  EXPECT_DOUBLE_EQ(schedule_factor(config, 4, 10, 100), 0.5);
  EXPECT_DOUBLE_EQ(schedule_factor(config, 9, 10, 100), 1.0);
  EXPECT_DOUBLE_EQ(schedule_factor(config, 10, 10, 100), 1.0);
  EXPECT_NEAR(schedule_factor(config, 55, 10, 100), 0.55, kRounding);  // half way: (1 + 0.1) / 2
  EXPECT_GT(schedule_factor(config, 99, 10, 100), 0.1);
  EXPECT_LT(schedule_factor(config, 99, 10, 100), 0.101);
  EXPECT_NEAR(schedule_factor(config, 100, 10, 100), 0.1, kRounding);
  EXPECT_NEAR(schedule_factor(config, 500, 10, 100), 0.1, kRounding);  // and stays there
}

TEST(Schedule, CosineNeverExceedsThePeak) {
  const ScheduleConfig config{.kind = ScheduleKind::cosine, .warmup = 0.1, .floor = 0.0};
  for (dim_t step = 0; step < 25; ++step) {  // warm-up of 2.5 steps
    EXPECT_LE(schedule_factor(config, step, 5, 25), 1.0) << step;
    EXPECT_GT(schedule_factor(config, step, 5, 25), 0.0) << step;
  }
}

TEST(Schedule, CosineWithoutWarmUpStartsAtThePeak) {
  const ScheduleConfig config{.kind = ScheduleKind::cosine, .warmup = 0.0, .floor = 0.0};
  EXPECT_EQ(schedule_factor(config, 0, 10, 100), 1.0);
  EXPECT_NEAR(schedule_factor(config, 50, 10, 100), 0.5, kRounding);
}

}  // namespace
}  // namespace dsf
