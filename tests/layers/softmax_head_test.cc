#include "dsf/layers/softmax_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dsf/base/rng.h"
#include "tests/support/gradient_check.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf::testing {
namespace {

constexpr dim_t kWidth = 4;
constexpr dim_t kVocab = 7;
constexpr float kScale = 0.125F;

/// The loss as a [1, 1] matrix.
auto loss_equation(const std::vector<token_t>& targets) {
  return [&targets](const auto& parameters, const auto& x) {
    auto loss = x;
    loss = {1, 1};
    loss(0, 0) = reference::cross_entropy(reference::linear(parameters, "", x), targets);
    return loss;
  };
}

reference::Grid<double> single(double value) {
  reference::Grid<double> grid(1, 1);
  grid(0, 0) = value;
  return grid;
}

/// A batch of the given number of rows: the head works in chunks of 1024.
class SoftmaxHeadTest : public ::testing::TestWithParam<dim_t> {
 protected:
  void SetUp() override {
    Rng rng(4);
    for (token_t& target : targets) target = static_cast<token_t>(rng.below(kVocab));
  }

  Derivatives expected() const {
    return differentiate(loss_equation(targets), to_values(table, weights), to_grid(h.view()),
                         single(static_cast<double>(kScale)));
  }

  dim_t rows = GetParam();
  ParameterTable table;
  SoftmaxHead head{table, "", kWidth, kVocab, 0.02F};
  ParameterValues weights = random_weights(table, 1);
  RandomMatrix h{rows, kWidth, 2, 2.0};
  std::vector<token_t> targets = std::vector<token_t>(static_cast<std::size_t>(rows));
};

TEST_P(SoftmaxHeadTest, MatchesReference) {
  SoftmaxHeadScratch scratch;
  Matrix dh(rows, kWidth);
  Buffer<float> gradients(table.flat_size());
  const HeadResult result =
      head.forward_backward(weights, h.view(), targets, kScale, scratch, dh, {gradients.data()});
  const Derivatives wanted = expected();
  EXPECT_NEAR(result.loss, wanted.y(0, 0), kF32Tolerance * wanted.y(0, 0));
  expect_close("dh", to_grid(dh), wanted.dx);
  expect_close(to_values(table, gradients), wanted.parameters);
}

TEST_P(SoftmaxHeadTest, CountsTheMostProbableTargets) {
  SoftmaxHeadScratch scratch;
  Matrix dh(rows, kWidth);
  Buffer<float> gradients(table.flat_size());
  const HeadResult result =
      head.forward_backward(weights, h.view(), targets, kScale, scratch, dh, {gradients.data()});
  const auto logits = reference::linear(to_values(table, weights), "", to_grid(h.view()));
  dim_t correct = 0;
  for (dim_t i = 0; i < rows; ++i) {
    const std::vector<double> row = logits.row(i);
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    correct += best == targets[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  EXPECT_EQ(result.correct, correct);
}

TEST_P(SoftmaxHeadTest, EvaluationGivesTheLossOfTraining) {
  SoftmaxHeadScratch scratch;
  Matrix dh(rows, kWidth);
  Buffer<float> gradients(table.flat_size());
  const HeadResult training =
      head.forward_backward(weights, h.view(), targets, kScale, scratch, dh, {gradients.data()});
  const HeadResult evaluation = head.evaluate(weights, h.view(), targets, scratch);
  EXPECT_EQ(evaluation.loss, training.loss);
  EXPECT_EQ(evaluation.correct, training.correct);
}

TEST_P(SoftmaxHeadTest, GradientMayOverwriteTheInput) {
  SoftmaxHeadScratch scratch;
  Matrix dh(rows, kWidth);
  Buffer<float> apart(table.flat_size());
  Buffer<float> in_place(table.flat_size());
  head.forward_backward(weights, h.view(), targets, kScale, scratch, dh, {apart.data()});
  head.forward_backward(weights, h.view(), targets, kScale, scratch, h.view(), {in_place.data()});
  EXPECT_EQ(to_grid(h.view()).values, to_grid(dh).values);
  EXPECT_TRUE(std::ranges::equal(in_place.span(), apart.span()));
}

TEST_P(SoftmaxHeadTest, EveryPassTakesChangedWeights) {
  SoftmaxHeadScratch scratch;
  const auto expect_takes_changes = [&](const auto& pass) {
    const auto before = pass(head);
    for (float& weight : weights.mutable_span()) weight *= 0.5F;
    ParameterTable same_table;
    SoftmaxHead fresh(same_table, "", kWidth, kVocab, 0.02F);
    const auto after = pass(head);
    EXPECT_NE(after, before);
    EXPECT_EQ(after, pass(fresh));
  };
  expect_takes_changes([&](SoftmaxHead& each) {
    Matrix dh(rows, kWidth);
    Buffer<float> gradients(table.flat_size());
    each.forward_backward(weights, h.view(), targets, kScale, scratch, dh, {gradients.data()});
    return to_grid(dh).values;
  });
  expect_takes_changes(
      [&](SoftmaxHead& each) { return each.evaluate(weights, h.view(), targets, scratch).loss; });
  expect_takes_changes([&](SoftmaxHead& each) {
    Matrix logits(rows, kVocab);
    each.logits(weights, h.view(), scratch, logits);
    return to_grid(logits).values;
  });
}

TEST_P(SoftmaxHeadTest, SameBitsWithAnyNumberOfThreads) {
  EXPECT_TRUE(same_with_any_thread_count([&] {
    SoftmaxHeadScratch scratch;
    Matrix dh(rows, kWidth);
    Buffer<float> gradients(table.flat_size());
    const HeadResult result =
        head.forward_backward(weights, h.view(), targets, kScale, scratch, dh, {gradients.data()});
    return std::tuple(result.loss, to_grid(dh).values,
                      to_values(table, gradients).at("weight").values);
  }));
}

INSTANTIATE_TEST_SUITE_P(RowsAroundAChunk, SoftmaxHeadTest,
                         ::testing::Values(1, 5, 1023, 1024, 1025, 2500));

TEST(SoftmaxHead, ReferenceIsConsistent) {
  ParameterTable table;
  const SoftmaxHead head(table, "", kWidth, kVocab, 0.02F);
  const std::vector<token_t> targets = {0, 6, 3, 3, 1};
  const RandomMatrix h(5, kWidth, 2);
  expect_consistent(loss_equation(targets), to_values(table, random_weights(table, 1)),
                    to_grid(h.view()), single(1.0));
}

// A vocabulary so large that products go through it in pieces, and odd, so that rows of the logits begin
// in the middle of a pair.
TEST(SoftmaxHead, Bf16StaysWithinItsRoundingForAnOddVocabulary) {
  constexpr dim_t kRows = 40;
  constexpr dim_t kLarge = 2501;
  // Two numbers of a product are rounded, each by 1/512 at most.
  constexpr double kTolerance = 2.0 / 512.0;
  ParameterTable table;
  SoftmaxHead head(table, "", kWidth, kLarge, 0.02F);
  ParameterValues weights = random_weights(table, 1);
  const RandomMatrix h(kRows, kWidth, 2, 2.0);
  std::vector<token_t> targets(kRows);
  Rng rng(4);
  for (token_t& target : targets) target = static_cast<token_t>(rng.below(kLarge));
  SoftmaxHeadScratch scratch;
  const auto gradients_in = [&](Precision precision) {
    weights.set_precision(precision);
    Matrix dh(kRows, kWidth);
    Buffer<float> gradients(table.flat_size());
    head.forward_backward(weights, h.view(), targets, kScale, scratch, dh, {gradients.data()});
    return std::pair(to_grid(dh), to_values(table, gradients));
  };
  const auto [wanted_dh, wanted] = gradients_in(Precision::f32);
  const auto [dh, gradients] = gradients_in(Precision::bf16);
  expect_close("dh", dh, wanted_dh, kTolerance);
  expect_close(gradients, wanted, kTolerance);
}

TEST(SoftmaxHead, LogitsAreTheLinearMap) {
  ParameterTable table;
  SoftmaxHead head(table, "", kWidth, kVocab, 0.02F);
  const ParameterValues weights = random_weights(table, 1);
  const RandomMatrix h(3, kWidth, 2);
  SoftmaxHeadScratch scratch;
  Matrix logits(3, kVocab);
  head.logits(weights, h.view(), scratch, logits);
  expect_close("logits", to_grid(logits),
               reference::linear(to_values(table, weights), "", to_grid(h.view())));
}

}  // namespace
}  // namespace dsf::testing
