#include "dsf/train/training_schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace dsf {
namespace {

std::vector<dim_t> steps_where(const TrainingSchedule& schedule,
                               bool (TrainingSchedule::*due)(dim_t) const) {
  std::vector<dim_t> steps;
  for (dim_t step = 1; step <= schedule.total_steps(); ++step) {
    if ((schedule.*due)(step)) steps.push_back(step);
  }
  return steps;
}

using Steps = std::vector<dim_t>;

TEST(TrainingSchedule, EpochsGiveTheStepsWhereNoneAreGiven) {
  TrainConfig config;
  config.epochs = 3;
  EXPECT_EQ(TrainingSchedule(config, 7).total_steps(), 21);
  config.steps = 5;
  EXPECT_EQ(TrainingSchedule(config, 7).total_steps(), 5);
}

TEST(TrainingSchedule, EvaluatesAtTheEndOfEpochsAndOfTheRun) {
  TrainConfig config;
  config.steps = 17;
  const TrainingSchedule schedule(config, 7);
  EXPECT_EQ(steps_where(schedule, &TrainingSchedule::evaluation_due), (Steps{7, 14, 17}));
  EXPECT_EQ(steps_where(schedule, &TrainingSchedule::evaluation_on_schedule), (Steps{7, 14}));
  EXPECT_EQ(steps_where(schedule, &TrainingSchedule::checkpoint_due), (Steps{7, 14, 17}));
}

TEST(TrainingSchedule, PeriodsInSteps) {
  TrainConfig config;
  config.steps = 12;
  config.eval_every = 5;
  config.checkpoint_every = 4;
  config.log_every = 6;
  const TrainingSchedule schedule(config, 7);
  EXPECT_EQ(steps_where(schedule, &TrainingSchedule::evaluation_due), (Steps{5, 10, 12}));
  EXPECT_EQ(steps_where(schedule, &TrainingSchedule::checkpoint_due), (Steps{4, 5, 8, 10, 12}));
  EXPECT_EQ(steps_where(schedule, &TrainingSchedule::log_due), (Steps{1, 6, 12}));
}

TEST(TrainingSchedule, LearningRateFollowsTheEpochs) {
  TrainConfig config;
  config.epochs = 3;
  config.lr = 2.0;
  config.schedule.kind = ScheduleKind::step;
  config.schedule.milestones = {1.0, 2.0};
  config.schedule.gamma = 0.5;
  const TrainingSchedule schedule(config, 10);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(9), 2.0);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(10), 1.0);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(20), 0.5);
  EXPECT_DOUBLE_EQ(schedule.epochs_done(15), 1.5);
}

TEST(TrainingSchedule, CountsTheCheckpointsToCome) {
  TrainConfig config;
  config.steps = 17;
  config.checkpoint_every = 5;
  const TrainingSchedule schedule(config, 7);  // 5, 7, 10, 14, 15, 17
  EXPECT_GE(schedule.most_checkpoints_after(0), 6);
  EXPECT_LE(schedule.most_checkpoints_after(0), 7);
  EXPECT_GE(schedule.most_checkpoints_after(16), 1);
  EXPECT_LE(schedule.most_checkpoints_after(17), 1);
}

}  // namespace
}  // namespace dsf
