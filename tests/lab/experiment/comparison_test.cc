#include "lab/experiment/comparison.h"

#include <gtest/gtest.h>

#include <csignal>

#include "dsf/run/run_directory.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

constexpr dim_t kSteps = 3;

class Comparisons : public ::testing::Test {
 protected:
  Comparisons() {
    const std::string text = directory_.write("text.txt", small_text(80)).string();
    comparison_ = {parse_assignments({"data.corpus=" + text, "model.hidden=8", "train.batch=4",
                                      "data.context=6", "train.steps=3", "train.eval_every=2"}),
                   {"bptt", "dsf"},
                   directory_ / "out"};
  }

  /// Asked once before a run's first step and once after each: SIGTERM from the answer `number` on.
  std::vector<ComparedRun> stopped_at(int number) const {
    int asked = 0;
    return run_comparison(comparison_, [&asked, number] { return asked++ < number ? 0 : SIGTERM; });
  }

  TempDirectory directory_;
  Comparison comparison_;
};

TEST_F(Comparisons, TrainEveryMethodInADirectoryOfItsOwn) {
  const std::vector<ComparedRun> runs = run_comparison(comparison_, [] { return 0; });
  ASSERT_EQ(runs.size(), 2U);
  for (const ComparedRun& run : runs) {
    EXPECT_FALSE(run.summary.interrupted);
    EXPECT_EQ(run.summary.steps, kSteps);
    EXPECT_EQ(run.evaluations.back().step, kSteps);
    EXPECT_TRUE(is_run_directory(directory_ / "out" / run.method));
  }
  // From the same weights, by other gradients.
  EXPECT_NE(runs[0].evaluations.back().loss, runs[1].evaluations.back().loss);
  EXPECT_EQ(comparison_table(runs).rows().size(), 2U);
  EXPECT_EQ(comparison_figure("", runs).curves.size(), 2U);
}

TEST_F(Comparisons, WarmUpComesBeforeTheFirstRunAndLeavesNothing) {
  comparison_.warms_up = true;
  int steps_of_warm_up = 0;
  const std::vector<ComparedRun> runs = run_comparison(comparison_, [&] {
    const bool before_all = !std::filesystem::exists(directory_ / "out/bptt");
    steps_of_warm_up += before_all && is_run_directory(directory_ / "out/warm-up") ? 1 : 0;
    return 0;
  });
  EXPECT_GT(steps_of_warm_up, kSteps);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].summary.steps, kSteps);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out/warm-up"));
}

TEST_F(Comparisons, ARunThatTookNoStepIsNone) {
  EXPECT_TRUE(stopped_at(0).empty());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));

  const std::vector<ComparedRun> first = stopped_at(kSteps + 1);  // before the second's first step
  ASSERT_EQ(first.size(), 1U);
  EXPECT_FALSE(first[0].summary.interrupted);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out/dsf"));
}

TEST_F(Comparisons, AStoppedRunEndsThem) {
  const std::vector<ComparedRun> runs = stopped_at(2);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE(runs[0].summary.interrupted);
  EXPECT_EQ(runs[0].summary.steps, 2);
}

}  // namespace
}  // namespace dsf
