#include "dsf/kernels/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/reference/reference_norms.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using testing::RandomMatrix;
using testing::Row;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Row row_of(ConstMatrixF m, dim_t i) { return {m.row(i), m.row(i) + m.cols}; }

struct Outcome {
  explicit Outcome(dim_t rows)
      : loss(static_cast<std::size_t>(rows), -1.0F), correct(static_cast<std::size_t>(rows), 7) {}
  CrossEntropy of(std::span<const token_t> targets, float scale = 1.0F,
                  const float* bias = nullptr) {
    return {targets, scale, loss, correct, bias};
  }

  std::vector<float> loss;
  std::vector<std::uint8_t> correct;
};

std::vector<token_t> targets_for(dim_t rows, dim_t cols) {
  Rng rng(3);
  std::vector<token_t> targets;
  for (dim_t i = 0; i < rows; ++i) targets.push_back(static_cast<token_t>(rng.below(cols)));
  return targets;
}

// For tests that are not about the sums.
void softmax_cross_entropy(MatrixF logits, const CrossEntropy& goal) {
  Matrix sums(ceil_div(logits.rows, kGradientGroup), logits.cols);
  dsf::softmax_cross_entropy(logits, goal, sums.view());
}

// Relative error of a probability. z - max is off by u |z - max|, which exp turns into a relative
// error; exp itself is off by 1 ulp = 2u (Highway's promise); a term of the sum passes through n /
// 32 additions in its lane (4 vectors of 8) and fewer than 40 after; a division and a
// multiplication follow. |z - max| <= spread.
double probability_error(dim_t n, double spread) {
  return 0.5 * FLT_EPSILON * (spread + 2.0 + (static_cast<double>(n) / 32.0 + 40.0) + 2.0);
}

TEST(Softmax, CrossEntropyAndGradientAgreeWithTheReference) {
  for (const dim_t n : {1, 5, 17, 1000, 16000}) {
    const dim_t rows = 6;
    const float scale = 0.25F;
    const RandomMatrix z(rows, n, 1, 3.0, 2);
    RandomMatrix gradient(rows, n, 1, 3.0, 2);
    const std::vector<token_t> targets = targets_for(rows, n);
    Outcome outcome(rows);
    softmax_cross_entropy(gradient.view(), outcome.of(targets, scale));
    EXPECT_TRUE(gradient.margin_untouched());

    for (dim_t i = 0; i < rows; ++i) {
      const Row logits = row_of(z.view(), i);
      const Row p = testing::reference_softmax(logits);
      const auto target = static_cast<std::size_t>(targets[static_cast<std::size_t>(i)]);
      const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
      const double relative = probability_error(n, *high - *low);

      // log turns the sum's relative error into an absolute one; then the loss is rounded.
      const double loss = testing::reference_log_sum_exp(logits) - logits[target];
      EXPECT_NEAR(outcome.loss[static_cast<std::size_t>(i)], loss,
                  relative + FLT_EPSILON * std::abs(loss));
      const bool best = std::max_element(logits.begin(), logits.end()) - logits.begin() ==
                        static_cast<std::ptrdiff_t>(target);
      EXPECT_EQ(outcome.correct[static_cast<std::size_t>(i)], best ? 1 : 0);
      for (std::size_t j = 0; j < p.size(); ++j) {
        const double expected = static_cast<double>(scale) * (p[j] - (j == target ? 1.0 : 0.0));
        ASSERT_NEAR(
            gradient.view()(i, static_cast<dim_t>(j)), expected,
            static_cast<double>(scale) * (p[j] * relative + (j == target ? FLT_EPSILON : 0.0)) +
                FLT_MIN)
            << "n=" << n << " i=" << i << " j=" << j;
      }
    }
  }
}

TEST(Softmax, CrossEntropyAloneGivesTheSameBitsAndKeepsTheLogits) {
  const dim_t rows = 40;
  const dim_t n = 333;
  const RandomMatrix before(rows, n, 2, 3.0);
  RandomMatrix z(rows, n, 2, 3.0);
  const std::vector<token_t> targets = targets_for(rows, n);
  Outcome alone(rows);
  cross_entropy(z.view(), targets, alone.loss, alone.correct);
  for (dim_t i = 0; i < rows; ++i) ASSERT_EQ(row_of(z.view(), i), row_of(before.view(), i));
  Outcome fused(rows);
  softmax_cross_entropy(z.view(), fused.of(targets));
  EXPECT_EQ(alone.loss, fused.loss);
  EXPECT_EQ(alone.correct, fused.correct);
}

TEST(Softmax, ABiasIsAddedToEveryRow) {
  const dim_t rows = 5;
  for (const dim_t n : {1, 7, 16, 333}) {
    const RandomMatrix bias(1, n, 3, 2.0);
    RandomMatrix added(rows, n, 2, 3.0);
    for (dim_t i = 0; i < rows; ++i) {
      for (dim_t j = 0; j < n; ++j) added.view()(i, j) += bias.view()(0, j);
    }
    RandomMatrix given(rows, n, 2, 3.0);
    const std::vector<token_t> targets = targets_for(rows, n);
    Outcome expected(rows);
    softmax_cross_entropy(added.view(), expected.of(targets, 0.5F));
    Outcome outcome(rows);
    softmax_cross_entropy(given.view(), outcome.of(targets, 0.5F, bias.view().row(0)));
    EXPECT_EQ(outcome.loss, expected.loss);
    EXPECT_EQ(outcome.correct, expected.correct);
    for (dim_t i = 0; i < rows; ++i) ASSERT_EQ(row_of(given.view(), i), row_of(added.view(), i));
    EXPECT_TRUE(given.margin_untouched());
  }
}

// The gradient in bf16 is the one in f32, rounded; its sums are taken before, so they are the same.
TEST(Softmax, RoundedGradientAndTheSumsAgreeWithTheGradient) {
  const float scale = 0.5F;
  for (const dim_t rows : {1, 31, 32, 33, 70}) {
    for (const dim_t n : {1, 17, 333}) {
      const RandomMatrix bias(1, n, 3, 2.0);
      const std::vector<token_t> targets = targets_for(rows, n);
      RandomMatrix exact(rows, n, 2, 3.0);
      Outcome expected(rows);
      Matrix exact_sums(ceil_div(rows, kGradientGroup), n);
      softmax_cross_entropy(exact.view(), expected.of(targets, scale, bias.view().row(0)),
                            exact_sums.view());

      RandomMatrix logits(rows, n, 2, 3.0);
      Outcome outcome(rows);
      Buffer<bf16_t> memory(rows * n);
      const MatrixView<bf16_t> gradient(memory.data(), rows, n);
      RandomMatrix sums(ceil_div(rows, kGradientGroup), n, 9, 1.0, 2);
      softmax_cross_entropy(logits.view(), outcome.of(targets, scale, bias.view().row(0)), gradient,
                            sums.view());
      EXPECT_EQ(outcome.loss, expected.loss);
      EXPECT_EQ(outcome.correct, expected.correct);
      EXPECT_TRUE(sums.margin_untouched());
      for (dim_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (dim_t i = 0; i < rows; ++i) {
          const float g = exact.view()(i, j);
          if (targets[static_cast<std::size_t>(i)] == j) {  // may round once less on the way
            ASSERT_NEAR(to_float(gradient(i, j)), g, std::abs(g) / 128.0F);
          } else {
            ASSERT_EQ(gradient(i, j).bits, to_bf16(g).bits);
          }
          sum += static_cast<double>(g);
          if ((i + 1) % kGradientGroup != 0 && i + 1 < rows) continue;
          ASSERT_EQ(sums.view()(i / kGradientGroup, j), exact_sums.view()(i / kGradientGroup, j));
          // 32 terms and 32 targets of at most `scale` each, in f32
          ASSERT_NEAR(sums.view()(i / kGradientGroup, j), sum, 64.0 * 32.0 * scale * FLT_EPSILON);
          sum = 0.0;
        }
      }
    }
  }
}

TEST(Softmax, LargeLogitsDoNotOverflow) {
  std::vector<float> z = {1e30F, -1e30F, 1e30F};
  Outcome outcome(1);
  softmax_cross_entropy(MatrixF(z.data(), 1, 3), outcome.of(std::vector<token_t>{0}));
  EXPECT_FLOAT_EQ(outcome.loss[0], std::log(2.0F));
  EXPECT_FLOAT_EQ(z[0], -0.5F);
  EXPECT_EQ(z[1], 0.0F);
  EXPECT_FLOAT_EQ(z[2], 0.5F);
}

TEST(Softmax, TiesGoToTheFirst) {
  const std::vector<float> z = {1.0F, 5.0F, 2.0F, 5.0F};
  Outcome outcome(1);
  const ConstMatrixF row(z.data(), 1, 4);
  cross_entropy(row, std::vector<token_t>{1}, outcome.loss, outcome.correct);
  EXPECT_EQ(outcome.correct[0], 1);
  cross_entropy(row, std::vector<token_t>{3}, outcome.loss, outcome.correct);
  EXPECT_EQ(outcome.correct[0], 0);
}

TEST(Softmax, NonFiniteLogitsGiveNanLossWhereverTheyStand) {
  const dim_t n = 37;  // whole vectors and single elements
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (dim_t place = 0; place < n; ++place) {
      RandomMatrix z(2, n, 4);
      z.view()(0, place) = bad;
      const std::vector<token_t> targets = {5, 5};
      Outcome alone(2);
      cross_entropy(z.view(), targets, alone.loss, alone.correct);
      Outcome fused(2);
      softmax_cross_entropy(z.view(), fused.of(targets));
      for (const Outcome& outcome : {alone, fused}) {
        EXPECT_TRUE(std::isnan(outcome.loss[0])) << bad << " at " << place;
        EXPECT_EQ(outcome.correct[0], 0);
        EXPECT_TRUE(std::isfinite(outcome.loss[1]));
      }
      EXPECT_TRUE(std::isnan(z.view()(0, 0)));
    }
  }
}

TEST(Softmax, RowsAgreeWithTheReference) {
  const dim_t n = 77;
  const RandomMatrix z(50, n, 5, 3.0, 1);
  RandomMatrix p(50, n, 5, 3.0, 1);
  softmax(p.view());
  for (dim_t i = 0; i < 50; ++i) {
    const Row logits = row_of(z.view(), i);
    const Row expected = testing::reference_softmax(logits);
    const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
    for (dim_t j = 0; j < n; ++j) {
      const double probability = expected[static_cast<std::size_t>(j)];
      ASSERT_NEAR(p.view()(i, j), probability, probability * probability_error(n, *high - *low));
    }
  }
  EXPECT_TRUE(p.margin_untouched());
}

TEST(Softmax, MinusInfinityMasksAPlace) {
  for (const dim_t n : {3, 19}) {
    std::vector<float> z(static_cast<std::size_t>(n), -kInfinity);
    z[0] = 1.0F;
    z[2] = 1.0F;
    softmax(MatrixF(z.data(), 1, n));
    std::vector<float> expected(static_cast<std::size_t>(n), 0.0F);
    expected[0] = 0.5F;
    expected[2] = 0.5F;
    EXPECT_EQ(z, expected);
  }
}

TEST(Softmax, NanAndPlusInfinityPoisonTheirRow) {
  for (const float bad : {kNan, kInfinity}) {
    for (const dim_t place : {0, 9, 18}) {
      RandomMatrix z(1, 19, 6);
      z.view()(0, place) = bad;
      softmax(z.view());
      for (dim_t j = 0; j < 19; ++j) EXPECT_TRUE(std::isnan(z.view()(0, j)));
    }
  }
}

TEST(Softmax, DoesNotDependOnTheNumberOfThreads) {
  const dim_t rows = 100;
  const dim_t n = 999;
  EXPECT_TRUE(testing::same_with_any_thread_count([&] {
    RandomMatrix z(rows, n, 7);
    Outcome outcome(rows);
    softmax_cross_entropy(z.view(), outcome.of(targets_for(rows, n), 0.1F));
    std::vector<float> all = outcome.loss;
    all.insert(all.end(), z.view().data, z.view().data + rows * n);
    return all;
  }));
}

}  // namespace
}  // namespace dsf
