// Each feedback follows its definition from step to step, down to the initial states.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/feedback/feedback_problem.h"
#include "tests/support/every_feedback.h"
#include "tests/support/layouts.h"

namespace dsf {
namespace {

PackedLayout random_layout(Rng& rng) {
  std::vector<dim_t> lengths(static_cast<std::size_t>(1 + rng.below(40)));
  for (dim_t& length : lengths) length = 1 + static_cast<dim_t>(rng.below(9));
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  return layout_of_lengths(lengths);
}

class EveryFeedbackOf : public ::testing::TestWithParam<CellCase> {
 protected:
  static void expect_definition(const std::string& method, const PackedLayout& layout) {
    SCOPED_TRACE(method + ", " + std::to_string(layout.batch()) + " sequences, " +
                 std::to_string(layout.steps()) + " steps");
    const CellProblem problem(GetParam(), kState, layout);
    FeedbackConfig config = config_of(method);
    config.calibration = 1;
    const auto feedback = make_feedback(config, problem.spec.state(), 1, "layer");
    if (method == "adaptive") expect_close(run(*feedback, problem), exact_gradients(problem));
    const reference::Carry definition =
        reference::definition_of(method, problem.spec, feedback->buffers());
    expect_close(run(*feedback, problem),
                 reference::total_gradients(problem.slow(), problem.e, definition));
  }
};
INSTANTIATE_TEST_SUITE_P(Cells, EveryFeedbackOf, ::testing::ValuesIn(reference::kAllCells),
                         [](const auto& suite) { return std::string(suite.param.name); });

TEST_P(EveryFeedbackOf, FollowsItsDefinition) {
  for (const std::string& method : testing::every_feedback()) {
    for (const PackedLayout& layout : {kLayout, PackedLayout::uniform(5, 3),
                                       PackedLayout::uniform(1, 3), PackedLayout::uniform(6, 1)}) {
      expect_definition(method, layout);
    }
  }
}

TEST_P(EveryFeedbackOf, FollowsItsDefinitionOverRandomLengths) {
  Rng rng(12);
  for (int draw = 0; draw < 4; ++draw) {
    const PackedLayout layout = random_layout(rng);
    for (const std::string& method : testing::every_feedback()) expect_definition(method, layout);
  }
}

TEST(FeedbackUse, OfTheJacobianIsWhatTheMethodSays) {
  const auto use_of = [](const std::string& method) {
    return make_feedback(config_of(method), kState, 1, "layer")->jacobian_use();
  };
  const std::vector<std::string> whole = {"bptt", "iterated:2", "adaptive"};
  for (const std::string& method : testing::every_feedback()) {
    if (method.starts_with("bptt:rank")) continue;
    const bool needed = std::ranges::find(whole, method) != whole.end();
    EXPECT_EQ(use_of(method).needed, needed) << method;
    EXPECT_EQ(use_of(method).rank, 0) << method;
  }
  EXPECT_TRUE(use_of("bptt:rank:8").needed);
  EXPECT_EQ(use_of("bptt:rank:8").rank, 8);
  EXPECT_TRUE(use_of("bptt:rank").needed);
  EXPECT_EQ(use_of("bptt:rank").rank, JacobianUse::kQuarterOfWidth);
}

TEST(FeedbackBuffers, AreThereIfAFeedbackHasNumbersOfItsOwn) {
  for (const std::string& method : testing::every_feedback()) {
    const bool none = method == "ft" || method == "gated" || method.starts_with("bptt") ||
                      method.starts_with("iterated");
    EXPECT_EQ(make_feedback(config_of(method), kState, 1, "layer")->buffers().empty(), none)
        << method;
  }
}

TEST(TruncatedFeedback, LeavesTheErrorsAlone) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("ft"), kState, 1, "layer");
  const RunResult result = run(*feedback, problem);
  EXPECT_EQ(result.g.values, Grid<float>(problem.e).values);
  EXPECT_EQ(result.initial.values, std::vector<float>(result.initial.values.size(), 0.0F));
}

TEST(LowRankBptt, WithoutANumberTakesAQuarterOfTheWidth) {
  const Problem problem;  // 13 units
  const auto of = [&](const char* method) {
    return run(*make_feedback(config_of(method), kState, 1, "layer"), problem).g.values;
  };
  EXPECT_EQ(of("bptt:rank"), of("bptt:rank:3"));
  EXPECT_NE(of("bptt:rank"), of("bptt:rank:4"));
}

class DiagonalFeedbackForms : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Scans, DiagonalFeedbackForms,
                         ::testing::Values("auto", "fused", "serial", "blocked", "fft"),
                         [](const auto& suite) { return std::string(suite.param); });

std::vector<double> diagonal_of(Feedback& feedback) {
  const std::span<float> a = feedback.buffers().at(0).values;
  return {a.begin(), a.end()};
}

// Shapes of their own for the blocked form, which cuts time every 32 steps, and for auto, which
// takes it for one long sequence.
TEST_P(DiagonalFeedbackForms, FollowTheDiagonalFromStepToStep) {
  for (const PackedLayout& layout : {kLayout, long_ragged_layout(), PackedLayout::uniform(70, 2),
                                     PackedLayout::uniform(300, 1), PackedLayout::uniform(1, 3)}) {
    SCOPED_TRACE(layout.steps());
    const Problem problem(layout);
    const auto feedback = make_feedback(config_of("dsf", GetParam()), kState, 1, "layer");
    expect_close(run(*feedback, problem), gradients_by_diagonal(problem, diagonal_of(*feedback)));
  }
}

// Values loaded from a checkpoint are written through the buffer and must be the ones used.
TEST_P(DiagonalFeedbackForms, ReadTheirBuffer) {
  const Problem problem;
  const auto feedback = make_feedback(config_of("dsf", GetParam()), kState, 1, "layer");
  const std::span<float> a = feedback->buffers().at(0).values;
  std::fill(a.begin(), a.end(), 0.0F);
  expect_close(run(*feedback, problem).g, problem.e, "g");
}

// D of the gates and a of what they forget: a = 0 is gated, and a is drawn as dsf's.
TEST(GatedFeedback, WithADiagonalOfZeroIsGated) {
  const Problem problem;
  const auto joined = make_feedback(config_of("gated:dsf"), kState, 1, "layer");
  EXPECT_EQ(diagonal_of(*joined),
            diagonal_of(*make_feedback(config_of("dsf"), kState, 1, "layer")));
  const auto gated = make_feedback(config_of("gated"), kState, 1, "layer");
  const RunResult expected = run(*gated, problem);
  EXPECT_GT(
      reference::relative_error(Grid<double>(run(*joined, problem).g), Grid<double>(expected.g)),
      1e-3);
  const std::span<float> a = joined->buffers().at(0).values;
  std::fill(a.begin(), a.end(), 0.0F);
  const RunResult without = run(*joined, problem);
  expect_close(without, {Grid<double>(expected.g), Grid<double>(expected.initial)});
}

double relative_difference(const std::vector<float>& actual, const std::vector<double>& exact) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t j = 0; j < exact.size(); ++j) {
    difference += std::abs(static_cast<double>(actual[j]) - exact[j]);
    size += std::abs(exact[j]);
  }
  return difference / size;
}

// Each correction makes one more step exact, counted from a sequence's last; the initial states come
// after the first step.
TEST(IteratedFeedback, EachCorrectionMakesOneMoreStepExact) {
  const Problem problem;
  const TotalGradients exact = exact_gradients(problem);
  for (const dim_t k : {1, 3, 6, 7, 50}) {
    const auto feedback =
        make_feedback(config_of("iterated:" + std::to_string(k)), kState, 1, "layer");
    const RunResult result = run(*feedback, problem);
    const auto expect_exact_if = [&](bool reached, double difference, dim_t t, dim_t b) {
      if (reached) {
        EXPECT_LT(difference, 10 * kTolerance) << k << " " << t << " " << b;
      } else {
        EXPECT_GT(difference, 1e-4) << k << " " << t << " " << b;
      }
    };
    for (dim_t b = 0; b < kLayout.batch(); ++b) {
      const dim_t length = kLayout.length(b);
      for (dim_t t = 0; t < length; ++t) {
        const dim_t row = kLayout.offset(t) + b;
        expect_exact_if(length - 1 - t <= k,
                        relative_difference(result.g.row(row), exact.g.row(row)), t, b);
      }
      expect_exact_if(length <= k, relative_difference(result.initial.row(b), exact.initial.row(b)),
                      -1, b);
    }
  }
}

// A batch after a larger and a smaller one goes back as by a feedback that has met neither.
TEST(FeedbackMemory, OfEarlierBatchesLeavesNoTrace) {
  const Problem large(PackedLayout::uniform(40, 9));
  const Problem small(PackedLayout::uniform(2, 1));
  const Problem problem;
  for (const std::string& method : testing::every_feedback()) {
    if (method == "adaptive") continue;  // which learns from them
    for (const char* scan : {"auto", "blocked", "fft"}) {
      const auto used = make_feedback(config_of(method, scan), kState, 1, "layer");
      run(*used, large);
      run(*used, small);
      const auto fresh = make_feedback(config_of(method, scan), kState, 1, "layer");
      const RunResult expected = run(*fresh, problem);
      const RunResult actual = run(*used, problem);
      EXPECT_EQ(actual.g.values, expected.g.values) << method;
      EXPECT_EQ(actual.initial.values, expected.initial.values) << method;
    }
  }
}

}  // namespace
}  // namespace dsf
