#include "dsf/optim/adam.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "dsf/base/error.h"
#include "tests/reference/reference_adam.h"
#include "tests/support/random_matrix.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

using testing::normal_vector;

float updated(const AdamConfig& config, double learning_rate, float gradient, float weight) {
  AdamState state;
  adam_update(config, learning_rate, 1.0, {&gradient, 1}, state, {&weight, 1});
  return weight;
}

// At the first update m^ = g and v^ = g^2: the weight moves by lr g / (|g| + epsilon). An epsilon
// as large as |g| shows that it is added to sqrt(v^), after the correction, as torch does it.
TEST(Adam, FirstStepMatchesHandCalculation) {
  EXPECT_FLOAT_EQ(updated({.epsilon = 1e-8}, 0.1, 0.5F, 1.0F), 0.9F);
  EXPECT_FLOAT_EQ(updated({.epsilon = 0.5}, 0.1, 0.5F, 1.0F), 0.95F);
  EXPECT_FLOAT_EQ(updated({.epsilon = 0.5}, 0.1, -0.5F, 1.0F), 1.05F);
}

TEST(Adam, WeightDecayGoesThroughTheGradient) {
  // g' = 0.5 + 0.1 * 1 = 0.6;  w = 1 - 0.1 * 0.6 / (0.6 + 0.6)
  EXPECT_FLOAT_EQ(updated({.epsilon = 0.6, .weight_decay = 0.1}, 0.1, 0.5F, 1.0F), 0.95F);
}

TEST(Adam, DecoupledWeightDecayShrinksTheWeightAlone) {
  // w = 1 * (1 - 0.1 * 0.1) - 0.1 * 0.5 / (0.5 + 0.5)
  const AdamConfig config{.epsilon = 0.5, .weight_decay = 0.1, .decoupled = true};
  EXPECT_FLOAT_EQ(updated(config, 0.1, 0.5F, 1.0F), 0.94F);
}

TEST(Adam, SecondStepMatchesHandCalculation) {
  // beta1 = beta2 = 0.5, gradients 1 and 3:
  //   m = 0.5, 1.75    m^ = 1, 7/3       v = 0.5, 4.75    v^ = 1, 19/3
  const AdamConfig config{.beta1 = 0.5, .beta2 = 0.5, .epsilon = 0.0};
  AdamState state;
  std::vector<float> w = {1.0F};
  adam_update(config, 0.1, 1.0, std::vector<float>{1.0F}, state, w);
  EXPECT_FLOAT_EQ(w[0], 0.9F);
  adam_update(config, 0.1, 1.0, std::vector<float>{3.0F}, state, w);
  EXPECT_FLOAT_EQ(w[0], 0.9F - 0.1F * (7.0F / 3.0F) / std::sqrt(19.0F / 3.0F));
  EXPECT_EQ(state.updates, 2);
}

TEST(Adam, AgreesWithTheDoubleReferenceOverManySteps) {
  constexpr dim_t kSize = 101;  // whole vectors and single elements
  constexpr int kSteps = 50;
  for (const bool decoupled : {false, true}) {
    const AdamConfig config{.epsilon = 1e-8, .weight_decay = 0.01, .decoupled = decoupled};
    std::vector<float> w = normal_vector(kSize, 1);
    std::vector<testing::ReferenceAdam> reference;
    for (const float weight : w) reference.emplace_back(config, static_cast<double>(weight));
    AdamState state;
    std::vector<double> expected(static_cast<std::size_t>(kSize));
    for (int step = 0; step < kSteps; ++step) {
      const double learning_rate = 0.01 / (1.0 + step);
      const std::vector<float> gradient =
          normal_vector(kSize, static_cast<std::uint64_t>(step) + 2);
      adam_update(config, learning_rate, 0.5, gradient, state, w);
      for (std::size_t i = 0; i < w.size(); ++i) {
        expected[i] = reference[i].update(learning_rate, 0.5 * static_cast<double>(gradient[i]));
      }
    }
    // A step changes a weight by a few lr at most, with m off by some ten roundings of what it
    // sums; the sum of all lr is below 0.05. The weight itself is rounded once or twice a step.
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double largest = std::abs(expected[i]) + 0.1;
      EXPECT_NEAR(w[i], expected[i], 0.5 * FLT_EPSILON * (2.0 * kSteps * largest + 100.0 * 0.05));
    }
  }
}

TEST(Adam, GradientScaleEqualsScaledGradients) {
  const std::vector<float> gradient = normal_vector(37, 1);
  std::vector<float> halved = gradient;
  for (float& g : halved) g *= 0.5F;
  AdamState state_a;
  AdamState state_b;
  std::vector<float> a = normal_vector(37, 2);
  std::vector<float> b = a;
  adam_update({.epsilon = 0.1}, 0.1, 0.5, gradient, state_a, a);
  adam_update({.epsilon = 0.1}, 0.1, 1.0, halved, state_b, b);
  EXPECT_EQ(a, b);
}

TEST(Adam, ZeroGradientWithoutDecayMovesNothing) {
  const std::vector<float> before = normal_vector(9, 1);
  std::vector<float> w = before;
  AdamState state;
  adam_update({}, 0.1, 1.0, std::vector<float>(9, 0.0F), state, w);
  EXPECT_EQ(w, before);
}

TEST(Adam, DoesNotDependOnTheNumberOfThreads) {
  constexpr dim_t kSize = 200001;  // several chunks
  const std::vector<float> gradient = normal_vector(kSize, 1);
  EXPECT_TRUE(testing::same_with_any_thread_count([&] {
    std::vector<float> w = normal_vector(kSize, 2);
    AdamState state;
    adam_update({}, 0.1, 1.0, gradient, state, w);
    adam_update({}, 0.1, 1.0, gradient, state, w);
    return w;
  }));
}

TEST(Adam, RefusesMomentsOfAnotherSize) {
  AdamState state;
  std::vector<float> w(4, 1.0F);
  adam_update({}, 0.1, 1.0, std::vector<float>(4, 1.0F), state, w);
  std::vector<float> other(5, 1.0F);
  EXPECT_THROW(adam_update({}, 0.1, 1.0, std::vector<float>(5, 1.0F), state, other), Error);
  EXPECT_THROW(adam_update({}, 0.1, 1.0, std::vector<float>(3, 1.0F), state, w), Error);
  EXPECT_EQ(state.updates, 1);
}

}  // namespace
}  // namespace dsf
