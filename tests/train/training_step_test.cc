#include "dsf/train/training_step.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "dsf/dist/single_process.h"
#include "dsf/optim/clip.h"
#include "dsf/train/gradient_sync.h"

namespace dsf {
namespace {

constexpr dim_t kVocab = 11;

LanguageModel small_model() {
  ModelConfig config;
  config.hidden = 8;
  return {config, FeedbackConfig{}, kVocab, /*seed=*/1};
}

TokenBatch small_batch() {
  TokenBatch batch{PackedLayout({3, 3, 2}), {}, {}};
  for (dim_t i = 0; i < batch.tokens(); ++i) {
    batch.inputs.push_back(static_cast<token_t>(i % kVocab));
    batch.targets.push_back(static_cast<token_t>((3 * i + 1) % kVocab));
  }
  return batch;
}

std::vector<float> weights_of(const LanguageModel& model) {
  return {model.weights().begin(), model.weights().end()};
}

TEST(TrainingStep, IsForwardBackwardClipAndUpdate) {
  const TokenBatch batch = small_batch();
  const StepSettings settings{.adam = {.epsilon = 0.1}, .learning_rate = 0.05, .clip = 0.01};
  LanguageModel model = small_model();
  LanguageModel by_hand = small_model();
  AdamState adam;
  AdamState adam_by_hand;
  // The second step starts from weights that the first one has changed.
  for (int step = 0; step < 2; ++step) {
    const StepResult result = training_step(model, batch, settings, adam);
    const LossSum sum = by_hand.forward_backward(batch, 1.0 / static_cast<double>(batch.tokens()));
    const double norm = global_norm(by_hand.gradients());
    ASSERT_GT(norm, settings.clip);  // else nothing is clipped here
    adam_update(settings.adam, settings.learning_rate, settings.clip / norm, by_hand.gradients(),
                adam_by_hand, by_hand.mutable_weights());
    EXPECT_TRUE(result.updated);
    EXPECT_EQ(result.sum.loss, sum.loss);
    EXPECT_EQ(result.sum.tokens, batch.tokens());
    EXPECT_DOUBLE_EQ(result.gradient_norm, norm);
    EXPECT_EQ(weights_of(model), weights_of(by_hand));
  }
  EXPECT_EQ(adam.updates, 2);
}

TEST(TrainingStep, LeavesWeightsAndMomentsAloneIfLossOrGradientIsNotFinite) {
  LanguageModel model = small_model();
  const std::vector<float> before = weights_of(model);
  AdamState adam;
  GradientSync sync(single_process(), model.table().flat_size(), {});
  const TokenBatch batch = small_batch();
  const std::vector<std::function<void(LossSum&)>> damages = {
      [](LossSum& sum) { sum.loss = std::numeric_limits<double>::infinity(); },
      [&](LossSum&) { model.gradients()[5] = std::numeric_limits<float>::quiet_NaN(); }};
  for (const auto& damage : damages) {
    const StepResult result =
        training_step(model, {batch, batch.tokens()}, {}, single_process(), sync, adam,
                      {.on_gradients = {}, .before_update = damage});
    EXPECT_FALSE(result.updated);
    EXPECT_EQ(weights_of(model), before);
    EXPECT_EQ(adam.updates, 0);
  }
}

}  // namespace
}  // namespace dsf
