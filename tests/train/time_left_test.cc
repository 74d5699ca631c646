#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "dsf/train/memory_check.h"
#include "dsf/train/training_run.h"
#include "dsf/train/training_schedule.h"
#include "tests/support/message_of.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

TEST(TimeLeft, KnowsTheEvaluationsToCome) {
  TrainConfig config;
  config.steps = 25;
  config.eval_every = 10;
  const TrainingSchedule schedule(config, 7);
  EXPECT_EQ(schedule.evaluations_after(0), 3);  // 10, 20 and the last
  EXPECT_EQ(schedule.evaluations_after(9), 3);
  EXPECT_EQ(schedule.evaluations_after(10), 2);
  EXPECT_EQ(schedule.evaluations_after(24), 1);
  EXPECT_EQ(schedule.evaluations_after(25), 0);
  config.steps = 20;
  EXPECT_EQ(TrainingSchedule(config, 7).evaluations_after(0), 2);
}

/// Keeps what it is told.
class Recorder final : public TrainObserver {
 public:
  void on_step(const TrainReport& report) override { steps.push_back(report); }
  void on_evaluating(dim_t step, double part) override { parts.emplace_back(step, part); }
  void on_eval(const EvalReport& report) override { evaluations.push_back(report); }

  std::vector<TrainReport> steps;
  std::vector<std::pair<dim_t, double>> parts;
  std::vector<EvalReport> evaluations;
};

TEST(TimeLeft, HasTheEvaluationsInIt) {
  const TempDirectory directory;
  const std::string text = directory.write("text.txt", small_text(20));
  const std::string valid = directory.write("valid.txt", small_text(4000));
  RunRequest request;
  request.out = directory / "run";
  request.assignments = parse_assignments(
      {"data.corpus=" + text, "data.valid=" + valid, "data.test_fraction=0", "model.hidden=8",
       "model.layers=1", "train.batch=4", "train.steps=6", "train.eval_every=1"});
  Recorder recorder;
  run_training(request, recorder);
  ASSERT_EQ(recorder.steps.size(), 6U);
  // Evaluations take far longer than steps here: after step s, 6 - s + 1 of them are to come.
  for (std::size_t s = 1; s < 6; ++s) {
    const TrainReport& report = recorder.steps[s];
    const double evaluations =
        static_cast<double>(6 - s) * recorder.evaluations[s - 1].eval_seconds;
    EXPECT_GE(report.seconds_left, 0.9 * evaluations) << s;
  }
  EXPECT_GT(recorder.parts.size(), 6U * 100) << "each batch of an evaluation is told";
  EXPECT_GT(recorder.parts.back().second, 0.9);
}

TEST(MemoryCheck, SaysTheFigureAndTheWayOut) {
  require_memory(1e9, 2e9);
  require_memory(1e9, 0.0);  // the system does not say
  EXPECT_THAT(message_of<UsageError>([] { require_memory(134e9, 24e9); }),
              ::testing::AllOf(::testing::HasSubstr("134.0 GB"), ::testing::HasSubstr("24.0 GB"),
                               ::testing::HasSubstr("--force-memory")));
}

}  // namespace
}  // namespace dsf
