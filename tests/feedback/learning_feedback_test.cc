// Feedbacks that learn their diagonal from batches that go back exactly.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/feedback/recording_cell.h"

namespace dsf {
namespace {

// sum (g J)_j g_j and sum g_j^2 over all steps, with BPTT's g, written out.
struct Sums {
  double products = 0.0;
  double squares = 0.0;
};

std::vector<Sums> sums_of(const Problem& problem) {
  const Grid<double> g = total_gradient(problem.e, Grid<double>(problem.jacobian));
  std::vector<Sums> all;
  for (dim_t j = 0; j < kState; ++j) {
    Sums sums;
    for (dim_t row = kLayout.batch(); row < kLayout.total_rows(); ++row) {
      double sent = 0.0;
      for (dim_t i = 0; i < kState; ++i) {
        sent += g(row, i) * static_cast<double>(problem.jacobian(i, j));
      }
      sums.products += sent * g(row, j);
      sums.squares += g(row, j) * g(row, j);
    }
    all.push_back(sums);
  }
  return all;
}

// a_j = sum (g J)_j g_j / sum g_j^2
double fitted_to(const Sums& sums) { return std::clamp(sums.products / sums.squares, -1.0, 1.0); }

TEST(FittedFeedback, FitsTheLeastSquaresDiagonalOnTheFirstBatches) {
  const Problem problem;
  FeedbackConfig config = config_of("fitted");
  config.calibration = 2;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  for (int batch = 0; batch < 2; ++batch) {
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_LT(reference::relative_error(Grid<double>(cell.seen), exact), kTolerance);
  }
  const std::vector<Sums> sums = sums_of(problem);
  const std::span<float> fitted = feedback->buffers().at(0).values;
  Grid<double> diagonal(kState, kState);
  for (dim_t j = 0; j < kState; ++j) {
    const auto place = static_cast<std::size_t>(j);
    // g - e has lost what |e| is larger than g J: a few bits.
    EXPECT_NEAR(fitted[place], fitted_to(sums[place]), 1e-5);
    diagonal(j, j) = fitted[place];
  }
  for (int batch = 0; batch < 3; ++batch) {
    const RecordingCell cell = run(*feedback, problem);
    EXPECT_LT(
        reference::relative_error(Grid<double>(cell.seen), total_gradient(problem.e, diagonal)),
        kTolerance);
  }
}

// Earlier sums count half with each refit.
TEST(AdaptiveFeedback, RefitsOnTheBatchesOfItsSchedule) {
  const Problem problem;
  Problem other;
  for (float& value : other.jacobian.values) value = -value;
  FeedbackConfig config = config_of("adaptive");
  config.calibration = 1;
  config.refit_every = 3;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  const auto diagonal = [&] {
    const std::span<float> a = feedback->buffers().at(0).values;
    return std::vector<float>(a.begin(), a.end());
  };
  run(*feedback, problem);
  const std::vector<float> first = diagonal();
  run(*feedback, other);
  run(*feedback, other);
  EXPECT_EQ(diagonal(), first) << "not yet";
  run(*feedback, other);
  const std::vector<Sums> before = sums_of(problem);
  const std::vector<Sums> after = sums_of(other);
  const std::vector<float> refitted = diagonal();
  for (std::size_t j = 0; j < refitted.size(); ++j) {
    const double expected = fitted_to(
        {0.5 * before[j].products + after[j].products, 0.5 * before[j].squares + after[j].squares});
    // As above.
    EXPECT_NEAR(refitted[j], expected, 1e-5) << j;
    EXPECT_NE(refitted[j], first[j]) << "the third batch after the first fit";
  }
}

// dsf's p and its derivative v by a, along one column of total_gradient's recursion.
struct Predicted {
  Grid<double> p;
  Grid<double> v;
};

Predicted predict(const Problem& problem, const std::vector<double>& a) {
  const dim_t rows = kLayout.total_rows();
  Predicted result{Grid<double>(rows, kState), Grid<double>(rows, kState)};
  for (dim_t t = kLayout.steps() - 1; t >= 0; --t) {
    for (dim_t b = 0; b < kLayout.rows_at(t); ++b) {
      const dim_t row = kLayout.offset(t) + b;
      const bool last = t + 1 == kLayout.steps() || b >= kLayout.rows_at(t + 1);
      for (dim_t j = 0; j < kState; ++j) {
        const double factor = a[static_cast<std::size_t>(j)];
        const double p = last ? 0.0 : result.p(kLayout.offset(t + 1) + b, j);
        const double v = last ? 0.0 : result.v(kLayout.offset(t + 1) + b, j);
        result.p(row, j) = static_cast<double>(problem.e(row, j)) + factor * p;
        result.v(row, j) = p + factor * v;
      }
    }
  }
  return result;
}

double distance_to_bptt(const Problem& problem, const std::vector<double>& a, dim_t unit) {
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  const Predicted dsf = predict(problem, a);
  double sum = 0.0;
  for (dim_t row = 0; row < kLayout.total_rows(); ++row) {
    sum += std::pow(exact(row, unit) - dsf.p(row, unit), 2);
  }
  return sum;
}

std::vector<double> diagonal_of(Feedback& feedback) {
  const std::span<float> a = feedback.buffers().at(0).values;
  return {a.begin(), a.end()};
}

TEST(LearnedFeedback, TakesHalfAGaussNewtonStepOnAnExactBatch) {
  const Problem problem;
  FeedbackConfig config = config_of("learned");
  config.calibration = 1;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  const std::vector<double> before = diagonal_of(*feedback);
  const Grid<double> exact = total_gradient(problem.e, Grid<double>(problem.jacobian));
  EXPECT_LT(reference::relative_error(Grid<double>(run(*feedback, problem).seen), exact),
            kTolerance);
  const std::vector<double> after = diagonal_of(*feedback);
  const Predicted dsf = predict(problem, before);
  Grid<double> diagonal(kState, kState);
  for (dim_t j = 0; j < kState; ++j) {
    const auto place = static_cast<std::size_t>(j);
    double products = 0.0;
    double squares = 0.0;
    for (dim_t row = 0; row < kLayout.total_rows(); ++row) {
      products += (exact(row, j) - dsf.p(row, j)) * dsf.v(row, j);
      squares += dsf.v(row, j) * dsf.v(row, j);
    }
    const double expected = std::clamp(before[place] + 0.5 * products / squares, -1.0, 1.0);
    // Single precision in the differences of g and p.
    EXPECT_NEAR(after[place], expected, 1e-5);
    diagonal(j, j) = after[place];
  }
  EXPECT_LT(reference::relative_error(Grid<double>(run(*feedback, problem).seen),
                                      total_gradient(problem.e, diagonal)),
            kTolerance)
      << "the batches after it are DSF's";
}

TEST(LearnedFeedback, EndsWhereNoOtherDiagonalIsNearerToBptt) {
  const Problem problem;
  FeedbackConfig config = config_of("learned");
  config.calibration = 60;
  const auto feedback = make_feedback(config, kState, 1, "layer");
  for (dim_t batch = 0; batch < config.calibration; ++batch) run(*feedback, problem);
  const std::vector<double> learned = diagonal_of(*feedback);
  for (dim_t j = 0; j < kState; ++j) {
    const double least = distance_to_bptt(problem, learned, j);
    for (const double away : {-0.05, 0.05}) {
      std::vector<double> other = learned;
      double& a = other[static_cast<std::size_t>(j)];
      a = std::clamp(a + away, -1.0, 1.0);
      EXPECT_LE(least, distance_to_bptt(problem, other, j) * (1.0 + 1e-9)) << j;
    }
  }
}

// What a checkpoint stores is all there is: a feedback with the buffers of another goes on as it.
class LearningFeedbacks : public ::testing::TestWithParam<const char*> {};

TEST_P(LearningFeedbacks, BuffersAreTheWholeState) {
  const Problem problem;
  FeedbackConfig config = config_of(GetParam());
  config.calibration = 2;
  config.refit_every = 2;
  const auto one = make_feedback(config, kState, 1, "layer");
  for (int batch = 0; batch < 3; ++batch) run(*one, problem);
  const auto two = make_feedback(config, kState, 1, "layer");
  const auto from = one->buffers();
  const auto to = two->buffers();
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
  }
  for (int batch = 0; batch < 4; ++batch) {
    EXPECT_EQ(run(*one, problem).seen.values, run(*two, problem).seen.values) << batch;
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
TEST_P(LearningFeedbacks, LeaveAUnitAloneWhoseNumbersAreNotFinite) {
  constexpr dim_t kBroken = 2;
  FeedbackConfig config = config_of(GetParam());
  config.calibration = config.method == "fitted" ? 2 : 1;
  config.refit_every = 1;
  const Problem first;
  Problem sound;
  for (float& value : sound.jacobian.values) value = -value;
  for (const float bad : {kNaN, kInfinity}) {
    Problem broken = sound;
    broken.e(0, kBroken) = bad;
    const auto meets_broken = make_feedback(config, kState, 1, "layer");
    const auto meets_sound = make_feedback(config, kState, 1, "layer");
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
TEST_P(LearningFeedbacks, StayFiniteWhateverABatchHolds) {
  FeedbackConfig config = config_of(GetParam());
  config.calibration = 1;
  const Problem sound;
  for (const float bad : {kNaN, kInfinity, -kInfinity, 1e30F}) {
    Problem broken;
    broken.e(kLayout.offset(3), 2) = bad;
    const auto feedback = make_feedback(config, kState, 1, "layer");
    run(*feedback, broken);
    expect_finite(*feedback);
    for (const float value : run(*feedback, sound).seen.values) {
      EXPECT_TRUE(std::isfinite(value)) << bad;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, LearningFeedbacks,
                         ::testing::Values("fitted", "adaptive", "learned"));

}  // namespace
}  // namespace dsf
