// adaptive learns its diagonal from batches that go back exactly.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/feedback/feedback_problem.h"

namespace dsf {
namespace {

// sum (g J)_j g_j and sum g_j^2 over all steps, with BPTT's g, written out.
struct Sums {
  double products = 0.0;
  double squares = 0.0;
};

std::vector<Sums> sums_of(const Problem& problem) {
  const Grid<double> g = exact_gradients(problem).g;
  std::vector<Sums> all(static_cast<std::size_t>(kState));
  for (dim_t t = 1; t < kLayout.steps(); ++t) {
    for (dim_t b = 0; b < kLayout.rows_at(t); ++b) {
      const dim_t before = kLayout.offset(t - 1) + b;
      for (dim_t j = 0; j < kState; ++j) {
        const double after = g(kLayout.offset(t) + b, j);
        Sums& sums = all[static_cast<std::size_t>(j)];
        sums.products += (g(before, j) - problem.e(before, j)) * after;
        sums.squares += after * after;
      }
    }
  }
  return all;
}

// a_j = sum (g J)_j g_j / sum g_j^2
double fitted_to(const Sums& sums) { return std::clamp(sums.products / sums.squares, -1.0, 1.0); }

std::vector<double> diagonal_of(Feedback& feedback) {
  const std::span<float> a = feedback.buffers().at(0).values;
  return {a.begin(), a.end()};
}

std::unique_ptr<Feedback> adaptive(dim_t calibration, dim_t refit_every) {
  FeedbackConfig config = config_of("adaptive");
  config.calibration = calibration;
  config.refit_every = refit_every;
  return make_feedback(config, kState, 1, "layer");
}

// g - e has lost what |e| is larger than g J: a few bits.
constexpr double kFitTolerance = 1e-5;

TEST(AdaptiveFeedback, FitsTheLeastSquaresDiagonalOnTheFirstBatches) {
  const Problem problem;
  const auto feedback = adaptive(2, 0);
  const TotalGradients exact = exact_gradients(problem);
  for (int batch = 0; batch < 2; ++batch) expect_close(run(*feedback, problem), exact);
  const std::vector<Sums> sums = sums_of(problem);
  const std::vector<double> fitted = diagonal_of(*feedback);
  for (std::size_t j = 0; j < fitted.size(); ++j) {
    EXPECT_NEAR(fitted[j], fitted_to(sums[j]), kFitTolerance) << j;
  }
  const TotalGradients by_fit = gradients_by_diagonal(problem, fitted);
  for (int batch = 0; batch < 3; ++batch) expect_close(run(*feedback, problem), by_fit);
}

TEST(AdaptiveFeedback, NeverRefitsIfItsScheduleSaysSo) {
  const Problem problem;
  const Problem other(kLayout, 4);
  const auto feedback = adaptive(1, 0);
  run(*feedback, problem);
  const std::vector<double> fitted = diagonal_of(*feedback);
  for (int batch = 0; batch < 10; ++batch) run(*feedback, other);
  EXPECT_EQ(diagonal_of(*feedback), fitted);
}

// counters: calibration batches done, and batches since the last exact one.
TEST(AdaptiveFeedback, CountsItsBatches) {
  const Problem problem;
  const auto feedback = adaptive(2, 3);
  const NamedBuffer counters = feedback->buffers().at(3);
  ASSERT_EQ(counters.name, "counters");
  const std::vector<std::vector<float>> expected = {{1, 0}, {2, 0}, {2, 1}, {2, 2},
                                                    {2, 0}, {2, 1}, {2, 2}, {2, 0}};
  for (const std::vector<float>& counted : expected) {
    run(*feedback, problem);
    EXPECT_EQ(std::vector<float>(counters.values.begin(), counters.values.end()), counted);
  }
}

// Earlier sums count half with each refit.
TEST(AdaptiveFeedback, RefitsOnTheBatchesOfItsSchedule) {
  const Problem problem;
  const Problem other(kLayout, 4);
  const auto feedback = adaptive(1, 3);
  run(*feedback, problem);
  const std::vector<double> first = diagonal_of(*feedback);
  run(*feedback, other);
  run(*feedback, other);
  EXPECT_EQ(diagonal_of(*feedback), first) << "not yet";
  run(*feedback, other);
  const std::vector<Sums> before = sums_of(problem);
  const std::vector<Sums> after = sums_of(other);
  const std::vector<double> refitted = diagonal_of(*feedback);
  for (std::size_t j = 0; j < refitted.size(); ++j) {
    const double expected = fitted_to(
        {0.5 * before[j].products + after[j].products, 0.5 * before[j].squares + after[j].squares});
    EXPECT_NEAR(refitted[j], expected, kFitTolerance) << j;
    EXPECT_NE(refitted[j], first[j]) << "the third batch after the first fit";
  }
}

// What a checkpoint stores is all there is: a feedback with the buffers of another goes on as it.
TEST(AdaptiveFeedback, BuffersAreTheWholeState) {
  const Problem problem;
  const auto one = adaptive(2, 2);
  for (int batch = 0; batch < 3; ++batch) run(*one, problem);
  const auto two = adaptive(2, 2);
  const auto from = one->buffers();
  const auto to = two->buffers();
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
  }
  for (int batch = 0; batch < 4; ++batch) {
    EXPECT_EQ(run(*one, problem).g.values, run(*two, problem).g.values) << batch;
  }
}

// By name, without the counters.
std::map<std::string, std::vector<float>> learned_by(Feedback& feedback) {
  std::map<std::string, std::vector<float>> numbers;
  for (const NamedBuffer& buffer : feedback.buffers()) {
    if (buffer.name == "counters") continue;
    numbers[buffer.name].assign(buffer.values.begin(), buffer.values.end());
  }
  return numbers;
}

void expect_finite(Feedback& feedback) {
  for (const auto& [name, values] : learned_by(feedback)) {
    for (const float value : values) EXPECT_TRUE(std::isfinite(value)) << name;
  }
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Nothing goes back from the first step: the other units of a broken batch are sound.
TEST(AdaptiveFeedback, LeavesAUnitAloneWhoseNumbersAreNotFinite) {
  constexpr dim_t kBroken = 2;
  const Problem first;
  const Problem sound(kLayout, 4);
  for (const float bad : {kNaN, kInfinity}) {
    Problem broken = sound;
    broken.e(0, kBroken) = static_cast<double>(bad);
    const auto meets_broken = adaptive(1, 1);
    const auto meets_sound = adaptive(1, 1);
    run(*meets_broken, first);
    run(*meets_sound, first);
    const auto before = learned_by(*meets_broken);
    run(*meets_broken, broken);
    run(*meets_sound, sound);
    expect_finite(*meets_broken);
    for (const auto& [name, expected] : learned_by(*meets_sound)) {
      const std::vector<float> after = learned_by(*meets_broken).at(name);
      EXPECT_NE(expected, before.at(name)) << name << ": the second batch must teach something";
      for (std::size_t j = 0; j < after.size(); ++j) {
        const bool broken_one = static_cast<dim_t>(j) == kBroken;
        EXPECT_EQ(after[j], broken_one ? before.at(name)[j] : expected[j]) << name << " " << j;
      }
    }
  }
}

// From a later step it goes back to all units; the square of 1e30 is infinite in float.
TEST(AdaptiveFeedback, StaysFiniteWhateverABatchHolds) {
  const Problem sound;
  for (const float bad : {kNaN, kInfinity, -kInfinity, 1e30F}) {
    Problem broken;
    broken.e(kLayout.offset(3), 2) = static_cast<double>(bad);
    const auto feedback = adaptive(1, 100);
    run(*feedback, broken);
    expect_finite(*feedback);
    EXPECT_TRUE(is_finite(run(*feedback, sound).g)) << bad;
  }
}

}  // namespace
}  // namespace dsf
