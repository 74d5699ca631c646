#include "lab/bench/gemms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsf/base/error.h"

namespace dsf {
namespace {

ModelConfig model(const std::string& mixer, dim_t hidden, dim_t layers, const std::string& block) {
  ModelConfig config;
  config.mixer = parse_choice<MixerKind>("model.mixer", mixer);
  config.hidden = hidden;
  config.layers = layers;
  config.block = parse_choice<BlockKind>("model.block", block);
  return config;
}

double flops(const ModelConfig& config, const std::string& method, dim_t vocab, dim_t steps,
             dim_t batch) {
  return step_flops(step_gemms(config, vocab, steps, batch), method);
}

// Penn Treebank, 8,192 rows. A layer: W x, U h, dX, dW, dU, each 2 * 8192 * 768 * 256; the head:
// logits, dh, dW, each 2 * 8192 * 256 * 10000. BPTT adds d U for 63 of the 64 steps.
TEST(StepGemms, PennTreebankStepMatchesTheCountByHand) {
  const ModelConfig config = model("gru", 256, 3, "plain");
  const double layer = 5.0 * 3'221'225'472.0;
  const double head = 3.0 * 41'943'040'000.0;
  const double walk_back = 63.0 * 2.0 * 128.0 * 768.0 * 256.0;
  EXPECT_EQ(flops(config, "dsf", 10000, 64, 128), 3.0 * layer + head);
  EXPECT_EQ(flops(config, "ft", 10000, 64, 128), 3.0 * layer + head);
  EXPECT_EQ(flops(config, "bptt", 10000, 64, 128), 3.0 * (layer + walk_back) + head);
}

// D = 8, N = 12: projection 3 * 2 N D D, the MLP's two maps 3 * 2 N D 4D each.
TEST(StepGemms, TransformerBlockAddsProjectionAndMlp) {
  const double plain = flops(model("gru", 8, 2, "plain"), "dsf", 5, 4, 3);
  const double transformer = flops(model("gru", 8, 2, "transformer"), "dsf", 5, 4, 3);
  const double projection = 3.0 * 2.0 * 12.0 * 64.0;
  const double mlp = 2.0 * 3.0 * 2.0 * 12.0 * 256.0;
  EXPECT_EQ(transformer - plain, 2.0 * (projection + mlp));
}

// D = 8, N = 12, four gates; the output [h, c] goes back to D through a map of 2D -> D.
TEST(StepGemms, LstmIsBroughtBackFromTwiceItsWidth) {
  const double layer = 5.0 * 2.0 * 12.0 * 32.0 * 8.0;
  const double projection = 3.0 * 2.0 * 12.0 * 16.0 * 8.0;
  const double head = 3.0 * 2.0 * 12.0 * 8.0 * 5.0;
  EXPECT_EQ(flops(model("lstm", 8, 1, "plain"), "dsf", 5, 4, 3), layer + projection + head);
}

// The candidate's  d_n U_n  is a product of all methods; in BPTT's walk two gates are left.
TEST(StepGemms, GruThatResetsBeforeNeedsTheCandidatesProductInEveryMethod) {
  const ModelConfig after = model("gru", 8, 1, "plain");
  ModelConfig before = after;
  before.reset = GruReset::before;
  const double candidate = 2.0 * 12.0 * 64.0;
  EXPECT_EQ(flops(before, "dsf", 5, 4, 3) - flops(after, "dsf", 5, 4, 3), candidate);
  const double in_walk = 3.0 * 2.0 * 3.0 * 64.0;  // T - 1 steps of three rows
  EXPECT_EQ(flops(before, "bptt", 5, 4, 3) - flops(after, "bptt", 5, 4, 3), candidate - in_walk);
}

TEST(StepGemms, ChunksOfTheHeadAddUpToAllRows) {
  const auto jobs = step_gemms(model("rnn", 4, 1, "plain"), 7, 1500, 1);
  double head = 0.0;
  dim_t rows = 0;
  for (const GemmJob& job : jobs) {
    if (job.name.rfind("head", 0) != 0) continue;
    head += job.flops();
    if (job.form == GemmForm::forward) rows += job.m * job.count;
  }
  EXPECT_EQ(rows, 1500);
  EXPECT_EQ(head, 3.0 * 2.0 * 1500.0 * 4.0 * 7.0);
}

TEST(StepGemms, MixerWithoutACellIsRefused) {
  EXPECT_THROW(step_gemms(model("attention", 4, 1, "plain"), 7, 2, 2), ConfigError);
}

TEST(GemmTimer, EveryJobTakesTimeInBothPrecisions) {
  const auto jobs = step_gemms(model("gru", 16, 1, "transformer"), 40, 5, 36);
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    GemmTimer timer(jobs, precision);
    const PartTimes seconds = timer.run();
    ASSERT_EQ(seconds.size(), jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_GT(seconds[i], 0.0) << jobs[i].name;
  }
}

}  // namespace
}  // namespace dsf
