#include "dsf/use/generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

constexpr const char* kText = "one two three four\n";

struct SmallModel {
  SmallModel(const std::string& mixer, const std::string& batching,
             const std::string& kind = "word")
      : tokenizer(build_tokenizer({.kind = parse_choice<TokenizerKind>("kind", kind)}, kText)),
        model(model_config(mixer), FeedbackConfig{}, tokenizer->vocab_size(), 3) {
    // Initial weights are small; larger ones make every token matter to the next.
    for (float& weight : model.mutable_weights()) weight *= 8.0F;
    data.batching = parse_choice<Batching>("data.batching", batching);
    data.context = 8;
  }

  static ModelConfig model_config(const std::string& mixer) {
    ModelConfig config;
    config.mixer = parse_choice<MixerKind>("model.mixer", mixer);
    config.hidden = 16;
    config.layers = 2;
    config.context = 8;
    return config;
  }

  /// The last row of the logits after all of `tokens`, from a zero state.
  std::vector<float> logits_after(std::vector<token_t> tokens) {
    TokenBatch batch;
    batch.layout = PackedLayout::uniform(static_cast<dim_t>(tokens.size()), 1);
    batch.inputs = tokens;
    batch.targets = tokens;
    Matrix out(batch.tokens(), model.vocab());
    model.logits(batch, nullptr, out);
    const float* last = out.view().row(out.rows() - 1);
    return {last, last + out.cols()};
  }

  std::vector<token_t> draw(dim_t count, std::uint64_t seed) {
    GenerationSession session(model, *tokenizer, data);
    Sampler sampler({});
    Rng rng(seed, "generate");
    std::vector<token_t> tokens = session.read("one");
    for (dim_t i = 0; i < count; ++i) tokens.push_back(session.next(sampler, rng));
    return tokens;
  }

  DataConfig data;
  std::unique_ptr<Tokenizer> tokenizer;
  LanguageModel model;
};

void expect_near(std::span<const float> got, const std::vector<float>& expected, token_t banned) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (static_cast<token_t>(i) == banned) {
      EXPECT_EQ(got[i], -HUGE_VALF);
    } else {
      // Sums of a few dozen products of size about 1 in another order.
      EXPECT_NEAR(got[i], expected[i], 1e-4F) << i;
    }
  }
}

class EveryMixerGenerates : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryMixerGenerates, StepByStepAsAWholeSequenceDoes) {
  SmallModel setup(GetParam(), "blocks");
  const token_t eos = setup.tokenizer->eos();
  GenerationSession session(setup.model, *setup.tokenizer, setup.data);
  std::vector<token_t> tokens = {eos};
  for (const token_t token : session.read("one two")) tokens.push_back(token);
  for (const token_t token : {4, 5, eos, 3, 6}) {
    session.read(token);
    tokens.push_back(token);
    expect_near(session.logits(), setup.logits_after(tokens), setup.tokenizer->bos());
  }
}

TEST_P(EveryMixerGenerates, TheSameTextForTheSameSeedWithAnyNumberOfThreads) {
  SmallModel setup(GetParam(), "sentences");
  const int threads = thread_count();
  const std::vector<token_t> tokens = setup.draw(40, 5);
  EXPECT_EQ(setup.draw(40, 5), tokens);
  EXPECT_NE(setup.draw(40, 6), tokens);
  set_thread_count(threads == 1 ? 2 : 1);
  EXPECT_EQ(setup.draw(40, 5), tokens);
  set_thread_count(threads);
  EXPECT_FALSE(std::ranges::count(tokens, setup.tokenizer->bos()));
}

INSTANTIATE_TEST_SUITE_P(Mixers, EveryMixerGenerates,
                         ::testing::ValuesIn(choice_names<MixerKind>()));

TEST(GenerationSession, AttentionForgetsWhatLeavesItsWindow) {
  SmallModel setup("attention", "blocks");
  GenerationSession session(setup.model, *setup.tokenizer, setup.data);
  const std::vector<token_t> tokens = {3, 4, 5, 6, 3, 3, 4, 6, 5, 4, 3, 5};
  for (const token_t token : tokens) session.read(token);
  expect_near(session.logits(), setup.logits_after({tokens.end() - 8, tokens.end()}),
              setup.tokenizer->bos());
}

TEST(GenerationSession, ASentenceStartsFromNothingUnlessToldToRemember) {
  SmallModel setup("gru", "sentences");
  const token_t bos = setup.tokenizer->bos();
  const token_t eos = setup.tokenizer->eos();
  GenerationSession session(setup.model, *setup.tokenizer, setup.data);
  session.read("four three\none");
  expect_near(session.logits(), setup.logits_after({bos, setup.draw(0, 1)[0]}), bos);

  GenerationSession remembers(setup.model, *setup.tokenizer, setup.data,
                              GenerationSession::AtSentenceEnd::remember);
  std::vector<token_t> tokens = {bos};
  for (const token_t token : remembers.read("four\n")) tokens.push_back(token);
  tokens.push_back(bos);
  ASSERT_EQ(tokens[2], eos);
  expect_near(remembers.logits(), setup.logits_after(tokens), bos);
}

TEST(GenerationSession, LongPromptsAreReadInPieces) {
  SmallModel setup("lstm", "stream");
  GenerationSession session(setup.model, *setup.tokenizer, setup.data);
  std::string prompt;
  for (int i = 0; i < 100; ++i) prompt += i % 3 == 0 ? "one two " : "four three ";
  std::vector<token_t> tokens = {setup.tokenizer->eos()};
  for (const token_t token : session.read(prompt)) tokens.push_back(token);
  ASSERT_EQ(tokens.size(), 201U);
  expect_near(session.logits(), setup.logits_after(tokens), setup.tokenizer->bos());
}

TEST(GenerationSession, TakesAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (const char* kind : {"word", "char", "byte"}) {
    for (const char* batching : {"sentences", "stream"}) {
      SmallModel setup("gru", batching, kind);
      GenerationSession session(setup.model, *setup.tokenizer, setup.data);
      EXPECT_FALSE(session.read(bytes).empty());
      session.restart();
      EXPECT_TRUE(session.read("").empty());
      Sampler sampler({});
      Rng rng(1);
      for (int i = 0; i < 5; ++i) session.next(sampler, rng);
    }
  }
}

}  // namespace
}  // namespace dsf
