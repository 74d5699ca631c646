// Each feedback follows its definition from step to step.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/feedback/recording_cell.h"
#include "tests/support/layouts.h"

namespace dsf {
namespace {

TEST(BpttFeedback, FollowsTheJacobianFromStepToStep) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("bptt"), kState, 1, "layer");
  EXPECT_TRUE(feedback->state_products().all);
  EXPECT_TRUE(feedback->buffers().empty());
  const RecordingCell cell = run(*feedback, problem);
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), exact), kTolerance);
}

TEST(TruncatedFeedback, LeavesTheErrorsAlone) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("ft"), kState, 1, "layer");
  EXPECT_FALSE(feedback->state_products().any());
  const RecordingCell cell = run(*feedback, problem);
  EXPECT_EQ(cell.seen.values, problem.e.values);
  EXPECT_EQ(cell.finished, 1);
}

class DiagonalFeedbackForms : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Scans, DiagonalFeedbackForms,
                         ::testing::Values("auto", "fused", "serial", "blocked", "fft"),
                         [](const auto& suite) { return std::string(suite.param); });

// Shapes of their own for the blocked form, which cuts time every 32 steps, and for auto, which
// takes it for one long sequence.
TEST_P(DiagonalFeedbackForms, FollowTheDiagonalFromStepToStep) {
  for (const PackedLayout& layout : {kLayout, long_ragged_layout(), PackedLayout::uniform(70, 2),
                                     PackedLayout::uniform(300, 1), PackedLayout::uniform(1, 3)}) {
    SCOPED_TRACE(layout.steps());
    const Problem problem(layout);
    const auto feedback = make_feedback(config_of("dsf", GetParam()), kState, 1, "layer");
    EXPECT_FALSE(feedback->state_products().any());
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_EQ(cell.finished, 1);
    const std::span<float> a = feedback->buffers().at(0).values;
    Grid<double> diagonal(kState, kState);
    for (dim_t j = 0; j < kState; ++j) diagonal(j, j) = a[static_cast<std::size_t>(j)];
    EXPECT_LT(reference::relative_error(Grid<double>(cell.seen),
                                        total_gradient(problem.e, diagonal, layout)),
              kTolerance);
  }
}

// Values loaded from a checkpoint are written through the buffer and must be the ones used.
TEST_P(DiagonalFeedbackForms, ReadTheirBuffer) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("dsf", GetParam()), kState, 1, "layer");
  const std::span<float> a = feedback->buffers().at(0).values;
  std::fill(a.begin(), a.end(), 0.0F);
  const RecordingCell cell = run(*feedback, problem);
  EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), Grid<double>(problem.e)),
            kTolerance);
}

TEST(GatedFeedback, FollowsTheOwnPathFromStepToStep) {
  const Problem problem;
  Grid<double> diagonal(kState, kState);
  for (dim_t j = 0; j < kState; ++j) diagonal(j, j) = static_cast<double>(problem.jacobian(j, j));
  const Grid<double> expected = total_gradient(problem.e, diagonal);
  for (const char* method : {"gated", "gated:diagonal", "iterated:0"}) {
    const auto feedback = make_feedback(config_of(method), kState, 1, "layer");
    EXPECT_FALSE(feedback->state_products().any());
    EXPECT_TRUE(feedback->buffers().empty());
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_EQ(cell.finished, 1);
    EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), expected), kTolerance) << method;
  }
}

// D of the own path and a of what it leaves: between D = 0, which is dsf, and a = 0, gated.
TEST(IteratedFeedback, FirstGuessHoldsByTheOwnPathAndByTheDiagonalWhatThatLeaves) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("gated:dsf"), kState, 1, "layer");
  EXPECT_FALSE(feedback->state_products().any());
  const std::span<float> a = feedback->buffers().at(0).values;
  const auto dsf = make_feedback(config_of("dsf"), kState, 1, "layer");
  const std::span<float> of_dsf = dsf->buffers().at(0).values;
  EXPECT_TRUE(std::equal(a.begin(), a.end(), of_dsf.begin(), of_dsf.end())) << "drawn alike";

  const auto expected = [&] {
    Grid<double> held(kState, kState);
    for (dim_t j = 0; j < kState; ++j) {
      const auto own = static_cast<double>(problem.jacobian(j, j));
      held(j, j) = own + static_cast<double>(a[static_cast<std::size_t>(j)]) * (1.0 - own);
    }
    return total_gradient(problem.e, held);
  };
  const RecordingCell cell = run(*feedback, problem);
  EXPECT_EQ(cell.finished, 1);
  EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), expected()), kTolerance);

  std::fill(a.begin(), a.end(), 0.0F);
  const RecordingCell without = run(*feedback, problem);
  EXPECT_LT(reference::relative_error(Grid<double>(without.seen), expected()), kTolerance);
  const auto gated = make_feedback(config_of("gated"), kState, 1, "layer");
  EXPECT_LT(reference::relative_error(Grid<double>(without.seen),
                                      Grid<double>(run(*gated, problem).seen)),
            kTolerance);
}

class IteratedFeedbackFrom : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(FirstGuess, IteratedFeedbackFrom,
                         ::testing::Values("iterated:", "iterated:dsf:"), [](const auto& suite) {
                           return std::string(suite.param) == "iterated:" ? "gated" : "gated_dsf";
                         });

// Seven steps: each correction makes one more of them exact, counted from the end.
TEST_P(IteratedFeedbackFrom, EachCorrectionMakesOneMoreStepExact) {
  const Problem problem;
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  for (const dim_t k : {1, 3, 6, 50}) {
    const auto feedback =
        make_feedback(config_of(GetParam() + std::to_string(k)), kState, 1, "layer");
    EXPECT_TRUE(feedback->state_products().all);
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_EQ(cell.finished, 1);
    for (dim_t b = 0; b < kLayout.batch(); ++b) {
      for (dim_t t = 0; t < kLayout.length(b); ++t) {
        const dim_t row = kLayout.offset(t) + b;
        double difference = 0.0;
        double size = 0.0;
        for (dim_t j = 0; j < kState; ++j) {
          difference += std::abs(static_cast<double>(cell.seen(row, j)) - exact(row, j));
          size += std::abs(exact(row, j));
        }
        const bool reached = kLayout.length(b) - 1 - t <= k;
        if (reached) {
          EXPECT_LT(difference, 10 * kTolerance * size) << k << " " << t << " " << b;
        } else {
          EXPECT_GT(difference, 1e-3 * size) << k << " " << t << " " << b;
        }
      }
    }
  }
}

}  // namespace
}  // namespace dsf
