// The feedbacks with a fixed matrix: how it is drawn, and that gradients follow it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/feedback/feedback_problem.h"
#include "tests/reference/grid_products.h"

namespace dsf {
namespace {

Grid<double> matrix_of(const std::string& method, Feedback& feedback) {
  reference::LayerSpec spec;
  spec.kind = CellKind::rnn;
  spec.hidden = kState;
  return reference::definition_of(method, spec, feedback.buffers()).A;
}

class StationaryFeedbacks : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Structures, StationaryFeedbacks,
                         ::testing::Values("pairs", "lowrank:1", "lowrank:3", "lowrank:50", "dense",
                                           "orthogonal"));

TEST_P(StationaryFeedbacks, FollowTheirMatrixFromStepToStep) {
  const Problem problem;
  const auto feedback = make_feedback(config_of(GetParam()), kState, 1, "layer");
  const reference::Carry definition =
      reference::definition_of(GetParam(), problem.spec, feedback->buffers());
  expect_close(run(*feedback, problem),
               reference::total_gradients(problem.slow(), problem.e, definition));
}

// A norm above 1 would let gradients grow without bound over long sequences. A row vector that A is
// applied to again and again turns towards the direction that A stretches most.
TEST_P(StationaryFeedbacks, DoNotGrow) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto feedback = make_feedback(config_of(GetParam()), kState, seed, "layer");
    const Grid<double> a = matrix_of(GetParam(), *feedback);
    for (dim_t start = 0; start < kState; ++start) {
      std::vector<double> v(kState);
      v[static_cast<std::size_t>(start)] = 1.0;
      for (int step = 0; step < 50; ++step) {
        std::vector<double> next(kState);
        for (dim_t i = 0; i < kState; ++i) {
          for (dim_t j = 0; j < kState; ++j) {
            next[static_cast<std::size_t>(j)] += v[static_cast<std::size_t>(i)] * a(i, j);
          }
        }
        const double before = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
        const double after = std::inner_product(next.begin(), next.end(), next.begin(), 0.0);
        // The entries are rounded to float.
        EXPECT_LE(after, before * (1.0 + 1e-5)) << GetParam() << " " << start << " " << step;
        v = next;
      }
    }
  }
}

TEST_P(StationaryFeedbacks, AreDrawnFromTheSeed) {
  const auto matrix = [](std::uint64_t seed, const char* purpose) {
    return matrix_of(GetParam(), *make_feedback(config_of(GetParam()), kState, seed, purpose));
  };
  EXPECT_EQ(matrix(1, "layer").values, matrix(1, "layer").values);
  EXPECT_NE(matrix(1, "layer").values, matrix(2, "layer").values);
  EXPECT_NE(matrix(1, "layer").values, matrix(1, "other layer").values);
}

// A as it acts, whatever it is stored as: of two steps the second has unit vectors for errors and
// the first none, so what arrives there are the rows of A.
Grid<double> as_it_acts(Feedback& feedback, dim_t size) {
  CellProblem problem(reference::kAllCells[0], size, PackedLayout::uniform(2, size));
  std::fill(problem.e.values.begin(), problem.e.values.end(), 0.0);
  for (dim_t i = 0; i < size; ++i) problem.e(size + i, i) = 1.0;
  const RunResult result = run(feedback, problem);
  Grid<double> a(size, size);
  for (dim_t i = 0; i < size; ++i) {
    for (dim_t j = 0; j < size; ++j) a(i, j) = static_cast<double>(result.g(i, j));
  }
  return a;
}

Grid<double> drawn(const std::string& method, dim_t size, std::vector<double> range,
                   std::uint64_t seed = 1) {
  FeedbackConfig config = config_of(method);
  config.range = std::move(range);
  return as_it_acts(*make_feedback(config, size, seed, "layer"), size);
}

// What a product of rows of norm 1 at most loses if their entries are rounded to float is some
// units of 6e-8.
constexpr double kRounding = 1e-5;

// Rows that are orthogonal to each other; returns their squared norms.
std::vector<double> norms_of_orthogonal_rows(const Grid<double>& a) {
  const Grid<double> gram = apply_map(a, a);
  std::vector<double> norms;
  for (dim_t i = 0; i < a.rows; ++i) {
    norms.push_back(gram(i, i));
    for (dim_t j = 0; j < i; ++j) EXPECT_NEAR(gram(i, j), 0.0, kRounding) << i << " " << j;
  }
  return norms;
}

// 33 pairs, so that the 32 modes begin again, and a unit that is left over.
TEST(PairsDraw, HasTheSpectrumOfS4DLin) {
  constexpr dim_t kSize = 67;
  constexpr dim_t kPairs = 33;
  constexpr dim_t kModes = 32;
  // The modulus is read to 6e-8, so d to 2e-7 and the largest angle to 31 pi 2e-7.
  constexpr double kStepRounding = 2e-7;
  const double angle_rounding = 31.0 * std::numbers::pi * kStepRounding;
  for (const std::uint64_t seed : {1U, 2U}) {
    const Grid<double> a = drawn("pairs", kSize, {0.0, 1.0}, seed);
    for (dim_t j = 0; j < kPairs; ++j) {
      const std::complex<double> factor(a(j, j), a(j, kPairs + j));
      const double d = -2.0 * std::log(std::abs(factor));
      EXPECT_GE(d, 0.001 - kStepRounding) << j;
      EXPECT_LE(d, 0.1 + kStepRounding) << j;
      const double angle = std::numbers::pi * static_cast<double>(j % kModes) * d;
      const std::complex<double> expected = std::polar(std::exp(-0.5 * d), angle);
      EXPECT_LT(std::abs(factor - expected), angle_rounding) << j;
    }
    const double left_over = -2.0 * std::log(a(kSize - 1, kSize - 1));
    EXPECT_GE(left_over, 0.001 - kStepRounding);
    EXPECT_LE(left_over, 0.1 + kStepRounding);
  }
}

TEST(PairsDraw, StepsFillTheirRangeLogUniformly) {
  constexpr std::size_t kPairs = 2000;
  const auto feedback = make_feedback(config_of("pairs"), 2 * kPairs, 1, "layer");
  const std::span<float> real = feedback->buffers().at(0).values;
  const std::span<float> imaginary = feedback->buffers().at(1).values;
  ASSERT_EQ(real.size(), kPairs);
  std::vector<double> steps;
  for (std::size_t j = 0; j < kPairs; ++j) {
    const std::complex<double> factor(real[j], imaginary[j]);
    steps.push_back(-2.0 * std::log(std::abs(factor)));
  }
  EXPECT_LT(*std::min_element(steps.begin(), steps.end()), 0.0011);
  EXPECT_GT(*std::max_element(steps.begin(), steps.end()), 0.09);
  const auto short_ones =
      std::count_if(steps.begin(), steps.end(), [](double d) { return d < 0.01; });
  // One half, to four standard deviations.
  EXPECT_NEAR(static_cast<double>(short_ones) / kPairs, 0.5, 0.045);
}

constexpr dim_t kOrthogonalSize = 29;

TEST(OrthogonalDraw, IsOrthogonalWhereTheRangeIsOne) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const Grid<double> a = drawn("orthogonal", kOrthogonalSize, {1.0, 1.0}, seed);
    for (const double norm : norms_of_orthogonal_rows(a)) EXPECT_NEAR(norm, 1.0, kRounding);
  }
}

// Entries of a random orthogonal matrix of 29 rows have a deviation of 0.19; those of the unit
// matrix are 1.
TEST(OrthogonalDraw, JoinsAllUnits) {
  for (const double entry : drawn("orthogonal", kOrthogonalSize, {1.0, 1.0}).values) {
    EXPECT_LT(std::abs(entry), 0.9);
    EXPECT_NE(entry, 0.0);
  }
}

TEST(OrthogonalDraw, EachRowHasItsOwnNumberOfTheRange) {
  const std::vector<double> norms =
      norms_of_orthogonal_rows(drawn("orthogonal", kOrthogonalSize, {0.5, 0.75}));
  const auto [least, most] = std::minmax_element(norms.begin(), norms.end());
  EXPECT_GE(*least, 0.5 * 0.5 - kRounding);
  EXPECT_LE(*most, 0.75 * 0.75 + kRounding);
  EXPECT_GT(*most - *least, 0.1);
}

// By power iteration on A A^T.
double largest_singular_value(const Grid<double>& a) {
  constexpr int kRounds = 1000;
  const Grid<double> a_transposed = transposed(a);
  Grid<double> v(1, a.rows);
  std::fill(v.values.begin(), v.values.end(), 1.0);
  double squared = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    v = apply_map(a, apply_map(a_transposed, v));
    squared = reference::norm(v);
    for (double& value : v.values) value /= squared;
  }
  return std::sqrt(squared);
}

// "Of norm 1, to a hundredth, from below"; 0.5 % are left for the iterations here and there, both
// of which stop a little early.
TEST(DenseDraw, HasANormOfOne) {
  for (const dim_t size : {13, 67}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const Grid<double> a = drawn("dense", size, {0.0, 1.0}, seed);
      const double largest = largest_singular_value(a);
      EXPECT_GE(largest, 0.985) << size << " " << seed;
      EXPECT_LE(largest, 1.0) << size << " " << seed;
      // The norm of S x S Gaussian numbers is about 2 sqrt(S) deviations, of an orthogonal matrix 1.
      const double all_numbers = reference::norm(a) / std::sqrt(static_cast<double>(size));
      EXPECT_GE(all_numbers / largest, 0.4) << size << " " << seed;
      EXPECT_LE(all_numbers / largest, 0.65) << size << " " << seed;
    }
  }
}

Grid<double> rows_of(std::span<const float> values, dim_t rows, double scale) {
  Grid<double> grid(rows, static_cast<dim_t>(values.size()) / rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    grid.values[i] = scale * static_cast<double>(values[i]);
  }
  return grid;
}

TEST(LowRankDraw, IsADiagonalAndOrthonormalFactors) {
  constexpr dim_t kSize = 29;
  constexpr dim_t kRank = 3;
  FeedbackConfig config = config_of("lowrank:3");
  config.range = {0.5, 0.75};
  const auto feedback = make_feedback(config, kSize, 1, "layer");
  const std::vector<NamedBuffer> buffers = feedback->buffers();
  const std::span<float> diagonal = buffers.at(0).values;
  ASSERT_EQ(diagonal.size(), static_cast<std::size_t>(kSize));
  Grid<double> joint = as_it_acts(*feedback, kSize);  // A without its diagonal, doubled: P Q^T
  for (dim_t i = 0; i < kSize; ++i) {
    const auto half = static_cast<double>(diagonal[static_cast<std::size_t>(i)]);
    EXPECT_GE(half, 0.25);
    EXPECT_LE(half, 0.375);
    joint(i, i) -= half;
  }
  for (double& value : joint.values) value *= 2.0;
  for (const double norm : norms_of_orthogonal_rows(rows_of(buffers.at(1).values, kRank, 2.0))) {
    EXPECT_NEAR(norm, 1.0, kRounding) << "P";
  }
  for (const double norm : norms_of_orthogonal_rows(rows_of(buffers.at(2).values, kRank, 1.0))) {
    EXPECT_NEAR(norm, 1.0, kRounding) << "Q";
  }
  // M M^T M = M says that all singular values are 0 or 1, |M|^2 how many are 1.
  EXPECT_LT(reference::relative_error(apply_map(transposed(joint), apply_map(joint, joint)), joint),
            kRounding);
  EXPECT_NEAR(std::pow(reference::norm(joint), 2), static_cast<double>(kRank), kRounding);
}

}  // namespace
}  // namespace dsf
