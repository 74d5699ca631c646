#include "dsf/model/language_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "tests/support/every_mixer.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

constexpr dim_t kVocab = 23;

TokenBatch random_batch(std::vector<dim_t> rows_per_step, std::uint64_t seed) {
  TokenBatch batch;
  batch.layout = PackedLayout(std::move(rows_per_step));
  Rng rng(seed);
  for (dim_t i = 0; i < batch.tokens(); ++i) {
    batch.inputs.push_back(static_cast<token_t>(rng.below(kVocab)));
    batch.targets.push_back(static_cast<token_t>(rng.below(kVocab)));
  }
  return batch;
}

FeedbackConfig feedback(const std::string& method) {
  FeedbackConfig config;
  config.method = method;
  return config;
}

ModelConfig model_config(const std::string& mixer, const std::string& block, dim_t hidden = 16,
                         dim_t layers = 2) {
  ModelConfig config;
  config.mixer = parse_choice<MixerKind>("model.mixer", mixer);
  config.block = parse_choice<BlockKind>("model.block", block);
  config.hidden = hidden;
  config.layers = layers;
  return config;
}

/// Initial embeddings are so small (0.02) that behind a layer norm the loss bends within a step
/// that f32 can measure; ten times larger, it is nearly straight.
void enlarge_small_weights(LanguageModel& model) {
  for (const ParameterInfo& entry : model.table().entries()) {
    if (entry.init.kind != Init::Kind::normal || entry.init.scale > 0.05F) continue;
    for (dim_t i = 0; i < entry.id.size(); ++i) {
      model.mutable_weights()[static_cast<std::size_t>(entry.id.offset + i)] *= 10.0F;
    }
  }
}

class EveryModel : public ::testing::TestWithParam<std::tuple<std::string, const char*>> {
 protected:
  LanguageModel make(std::uint64_t seed = 1) const {
    const auto& [mixer, block] = GetParam();
    const bool before = mixer == "gru_reset_before";
    ModelConfig config = model_config(before ? "gru" : mixer, block);
    if (before) config.reset = GruReset::before;
    return {config, feedback("bptt"), kVocab, seed};
  }
};

// d loss / d(weights along a direction), by backward and by central differences of the f32 loss.
// The direction is the gradient itself, along which the loss changes most: a step of h changes it
// by about h |g|, and is read with an error of about 1e-7 loss.
TEST_P(EveryModel, GradientPredictsTheChangeOfTheLoss) {
  LanguageModel model = make();
  enlarge_small_weights(model);
  const TokenBatch batch = random_batch({5, 5, 4, 2, 2, 1}, 2);
  const double scale = 1.0 / static_cast<double>(batch.tokens());
  model.forward_backward(batch, scale);
  const std::vector<float> gradient(model.gradients().begin(), model.gradients().end());
  double squared = 0.0;
  for (const float g : gradient) squared += static_cast<double>(g) * static_cast<double>(g);
  const double norm = std::sqrt(squared);

  const std::vector<float> start(model.weights().begin(), model.weights().end());
  const auto loss_at = [&](double h) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      model.mutable_weights()[i] =
          start[i] + static_cast<float>(h * static_cast<double>(gradient[i]) / norm);
    }
    return model.evaluate(batch).mean();
  };
  constexpr double kStep = 0.01;
  const double measured = (loss_at(kStep) - loss_at(-kStep)) / (2.0 * kStep);
  // The loss, about 3, is read to about 3e-7: 3e-5 of a derivative. The third-order term is of the
  // order of (kStep / norm of an embedded token)^2 = (0.01 / 0.8)^2 = 2e-4.
  EXPECT_NEAR(measured / norm, 1.0, 2e-3);
}

// Gradients that travel to other machines during the backward pass must not change any more.
TEST_P(EveryModel, GradientsAreFinalWhereTheyAreSaidToBe) {
  LanguageModel model = make();
  const TokenBatch batch = random_batch({5, 4, 4, 1}, 2);
  std::vector<dim_t> firsts;
  std::vector<float> seen(static_cast<std::size_t>(model.table().flat_size()));
  dim_t end = model.table().flat_size();
  model.forward_backward(batch, 1.0, nullptr, [&](dim_t first) {
    std::copy(model.gradients().begin() + first, model.gradients().begin() + end,
              seen.begin() + first);
    EXPECT_LE(first, end);
    end = first;
    firsts.push_back(first);
  });
  EXPECT_TRUE(std::equal(seen.begin(), seen.end(), model.gradients().begin()));
  EXPECT_EQ(firsts.size(), 4U) << "the head, two blocks, the embedding";
  EXPECT_EQ(firsts.back(), 0);
}

TEST_P(EveryModel, BatchWithoutSequencesHasZeroGradients) {
  LanguageModel model = make();
  model.forward_backward(random_batch({5, 4}, 2), 1.0);
  dim_t ready = -1;
  const LossSum sum =
      model.forward_backward(TokenBatch(), 1.0, nullptr, [&](dim_t first) { ready = first; });
  EXPECT_EQ(ready, 0);
  EXPECT_EQ(sum.tokens, 0);
  for (const float g : model.gradients()) EXPECT_EQ(g, 0.0F);
}

TEST_P(EveryModel, SameSeedSameWeightsOtherSeedOtherWeights) {
  const LanguageModel a = make(7);
  const LanguageModel b = make(7);
  const LanguageModel c = make(8);
  EXPECT_TRUE(std::equal(a.weights().begin(), a.weights().end(), b.weights().begin()));
  EXPECT_FALSE(std::equal(a.weights().begin(), a.weights().end(), c.weights().begin()));
}

TEST_P(EveryModel, EvaluationIsTheLossOfTraining) {
  LanguageModel model = make();
  const TokenBatch batch = random_batch({4, 3, 3, 1}, 3);
  const LossSum trained = model.forward_backward(batch, 1.0);
  const LossSum evaluated = model.evaluate(batch);
  EXPECT_NEAR(trained.loss, evaluated.loss, 1e-5 * evaluated.loss);
  EXPECT_EQ(trained.tokens, batch.tokens());
  EXPECT_EQ(trained.correct, evaluated.correct);
}

TEST_P(EveryModel, UntrainedModelKnowsNothing) {
  LanguageModel model = make();
  EXPECT_NEAR(model.evaluate(random_batch({64, 64, 64, 64}, 4)).mean(), std::log(kVocab), 0.2);
}

TEST_P(EveryModel, BitsDoNotDependOnTheNumberOfThreads) {
  EXPECT_TRUE(testing::same_with_any_thread_count([&] {
    LanguageModel model = make();
    model.forward_backward(random_batch({70, 70, 40, 3}, 5), 1.0);
    return std::vector<float>(model.gradients().begin(), model.gradients().end());
  }));
}

TEST_P(EveryModel, WeightsThatWereTakenForChangeAreThoseOfTheNextPass) {
  LanguageModel model = make(7);
  const LanguageModel source = make(8);
  const TokenBatch batch = random_batch({5, 4, 4, 1}, 2);
  const double before = model.evaluate(batch).loss;
  std::copy(source.weights().begin(), source.weights().end(), model.mutable_weights().begin());
  const double after = model.evaluate(batch).loss;
  EXPECT_NE(after, before);
  EXPECT_EQ(after, make(8).evaluate(batch).loss);
}

TEST_P(EveryModel, PrecisionIsThatOfTheNextPass) {
  LanguageModel model = make();
  const TokenBatch batch = random_batch({5, 4, 4, 1}, 2);
  const double single = model.evaluate(batch).loss;
  model.set_precision(Precision::bf16);
  EXPECT_NE(model.evaluate(batch).loss, single);
  model.set_precision(Precision::f32);
  EXPECT_EQ(model.evaluate(batch).loss, single);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel,
                         ::testing::Combine(::testing::ValuesIn(testing::every_mixer()),
                                            ::testing::Values("plain", "transformer")));

// Layers that rebuild their gates share the memory for them; one that took what another left there
// would be far off. Rounding alone is below 1e-5 of the largest gradient.
TEST(LanguageModel, RebuildingTheGatesChangesNothingButRounding) {
  const auto gradients_of = [](bool recompute) {
    ModelConfig config = model_config("gru", "transformer", 16, 3);
    config.recompute = recompute;
    LanguageModel model(config, feedback("dsf"), kVocab, 1);
    model.forward_backward(random_batch({70, 70, 40, 3}, 5), 1.0);
    return std::vector<float>(model.gradients().begin(), model.gradients().end());
  };
  const std::vector<float> kept = gradients_of(false);
  const std::vector<float> rebuilt = gradients_of(true);
  float largest = 0.0F;
  for (const float g : kept) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < kept.size(); ++i) ASSERT_NEAR(rebuilt[i], kept[i], 1e-5F * largest);
}

TEST(LanguageModel, AttentionHasNoGatesToRebuild) {
  ModelConfig config = model_config("attention", "transformer");
  config.recompute = true;
  EXPECT_THROW(LanguageModel(config, feedback("ft"), kVocab, 1), ConfigError);
}

TEST(LanguageModel, CarriedStateContinuesASequence) {
  LanguageModel model(model_config("gru", "plain"), feedback("dsf"), kVocab, 1);
  const TokenBatch whole = random_batch({3, 3, 3, 3}, 6);
  const auto half = [&](std::ptrdiff_t begin) {
    TokenBatch batch;
    batch.layout = PackedLayout::uniform(2, 3);
    batch.inputs.assign(whole.inputs.begin() + begin, whole.inputs.begin() + begin + 6);
    batch.targets.assign(whole.targets.begin() + begin, whole.targets.begin() + begin + 6);
    return batch;
  };
  ModelState state = model.zero_state(3);
  LossSum halves = model.evaluate(half(0), &state);
  halves += model.evaluate(half(6), &state);
  EXPECT_NEAR(halves.loss, model.evaluate(whole).loss, 1e-5 * halves.loss);
}

TEST(LanguageModel, DiagonalsAreBuffersOfTheModel) {
  LanguageModel model(model_config("lstm", "plain", 8, 3), feedback("dsf"), kVocab, 1);
  const auto buffers = model.buffers();
  ASSERT_EQ(buffers.size(), 3U);
  EXPECT_EQ(buffers[1].name, "blocks.1.mixer.feedback.diagonal");
  EXPECT_EQ(buffers[1].values.size(), 16U);
}

class MisusedModel : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_refused(const TokenBatch& batch, ModelState* state = nullptr) {
    EXPECT_THROW(model_.evaluate(batch, state), Error);
    EXPECT_THROW(model_.forward_backward(batch, 1.0, state), Error);
  }

  LanguageModel model_{model_config(GetParam(), "plain"), feedback("dsf"), kVocab, 1};
  TokenBatch batch_ = random_batch({3, 3, 2}, 6);
};
INSTANTIATE_TEST_SUITE_P(Mixers, MisusedModel, ::testing::Values("gru", "ema"));

TEST_P(MisusedModel, RefusesStatesOfFewerOrMoreSequences) {
  for (const dim_t sequences : {2, 4}) {
    SCOPED_TRACE(sequences);
    ModelState state = model_.zero_state(sequences);
    expect_refused(batch_, &state);
  }
  ModelState state = model_.zero_state(3);
  EXPECT_NO_THROW(model_.evaluate(batch_, &state));
}

TEST_P(MisusedModel, RefusesABatchOfFewerTokensThanItsLayoutHas) {
  batch_.inputs.pop_back();
  expect_refused(batch_);
}

// D = 512, V = 16000, transformer-like: the counts of the paper's tables 2 and 4.
TEST(LanguageModel, ParameterCountsAreThePapers) {
  const auto millions = [](const std::string& mixer, dim_t layers) {
    const dim_t count =
        count_parameters(model_config(mixer, "transformer", 512, layers), feedback("dsf"), 16000);
    return std::round(static_cast<double>(count) / 1e5) / 10.0;
  };
  EXPECT_EQ(millions("gru", 1), 20.3);
  EXPECT_EQ(millions("gru", 3), 28.2);
  EXPECT_EQ(millions("gru", 6), 40.0);
  EXPECT_EQ(millions("gru", 12), 63.7);
  EXPECT_EQ(millions("ema", 3), 28.2);
  EXPECT_EQ(millions("attention", 3), 25.9);
}

TEST(LanguageModel, RefusesUnknownFeedbacksAndImpossibleSizes) {
  EXPECT_THROW(count_parameters(model_config("gru", "plain"), feedback("dfs"), kVocab),
               ConfigError);
  EXPECT_THROW(count_parameters(model_config("gru", "plain", -1), feedback("dsf"), kVocab),
               ConfigError);
  EXPECT_THROW(count_parameters(model_config("gru", "plain", 8, 0), feedback("dsf"), kVocab),
               ConfigError);
}

}  // namespace
}  // namespace dsf
