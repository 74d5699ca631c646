#include "dsf/data/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "tests/data/corpora.h"
#include "tests/support/message_of.h"

namespace dsf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr token_t kBos = 1'000'000;

// Lines of these lengths, last token included; all tokens are different: token i is i. So a target
// says by itself where in the text it stands.
Split split_of(const std::vector<dim_t>& lengths) {
  std::vector<token_t> tokens;
  std::vector<dim_t> line_starts = {0};
  for (const dim_t length : lengths) {
    for (dim_t i = 0; i < length; ++i) tokens.push_back(static_cast<token_t>(tokens.size()));
    line_starts.push_back(static_cast<dim_t>(tokens.size()));
  }
  return {std::move(tokens), std::move(line_starts), 0, 0};
}

Split random_split(dim_t lines, dim_t longest) {
  Rng rng(99);
  std::vector<dim_t> lengths;
  for (dim_t i = 0; i < lines; ++i) lengths.push_back(1 + rng.below(longest));
  return split_of(lengths);
}

std::vector<TokenBatch> epoch_of(Batcher& batcher) {
  std::vector<TokenBatch> batches(static_cast<std::size_t>(batcher.batches_per_epoch()));
  for (TokenBatch& batch : batches) batcher.next(batch);
  return batches;
}

std::vector<token_t> sorted_targets(const std::vector<TokenBatch>& batches) {
  std::vector<token_t> targets;
  for (const TokenBatch& batch : batches) {
    targets.insert(targets.end(), batch.targets.begin(), batch.targets.end());
  }
  std::sort(targets.begin(), targets.end());
  return targets;
}

bool equal(const TokenBatch& a, const TokenBatch& b) {
  if (a.layout.steps() != b.layout.steps()) return false;
  for (dim_t t = 0; t < a.layout.steps(); ++t) {
    if (a.layout.rows_at(t) != b.layout.rows_at(t)) return false;
  }
  return a.inputs == b.inputs && a.targets == b.targets;
}

std::size_t row(const TokenBatch& batch, dim_t t, dim_t b) {
  return static_cast<std::size_t>(batch.layout.offset(t) + b);
}

// What holds for every batch: the arrays fit the layout, and a target is the next step's input.
void expect_well_packed(const TokenBatch& batch) {
  ASSERT_EQ(static_cast<dim_t>(batch.inputs.size()), batch.layout.total_rows());
  ASSERT_EQ(static_cast<dim_t>(batch.targets.size()), batch.layout.total_rows());
  for (dim_t t = 0; t + 1 < batch.layout.steps(); ++t) {
    for (dim_t b = 0; b < batch.layout.rows_at(t + 1); ++b) {
      ASSERT_EQ(batch.targets[row(batch, t, b)], batch.inputs[row(batch, t + 1, b)])
          << "step " << t << ", sequence " << b;
    }
  }
}

// --- every batching ------------------------------------------------------------------------------

class EveryBatching : public ::testing::TestWithParam<Batching> {
 protected:
  static constexpr dim_t kContext = 12;
  static constexpr dim_t kBatch = 8;

  Batcher make(std::uint64_t seed = 7, bool shuffled = true) const {
    return {split_, GetParam(), kContext, kBatch, kBos, seed, shuffled};
  }

  /// Of an epoch: all tokens but those that this way of batching leaves out.
  dim_t expected_targets() const {
    const auto tokens = static_cast<dim_t>(split_.tokens.size());
    if (GetParam() == Batching::blocks) return tokens - 1;
    if (GetParam() == Batching::stream) return (tokens - 1) / kBatch * kBatch;
    dim_t targets = 0;
    for (dim_t line = 0; line < split_.lines(); ++line) {
      const dim_t length = split_.line_length(line);
      if (length > 1) targets += std::min(length, kContext);
    }
    return targets;
  }

  const Split split_ = random_split(61, 30);
};

TEST_P(EveryBatching, TargetIsTheInputOfTheNextStep) {
  Batcher batcher = make();
  for (const TokenBatch& batch : epoch_of(batcher)) expect_well_packed(batch);
}

TEST_P(EveryBatching, TargetFollowsItsInputInTheText) {
  Batcher batcher = make();
  for (const TokenBatch& batch : epoch_of(batcher)) {
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
      if (batch.inputs[i] == kBos) continue;
      ASSERT_EQ(batch.targets[i], batch.inputs[i] + 1);
    }
  }
}

TEST_P(EveryBatching, NoTargetComesTwiceAndTheCountIsRight) {
  Batcher batcher = make();
  const auto targets = sorted_targets(epoch_of(batcher));
  EXPECT_EQ(std::adjacent_find(targets.begin(), targets.end()), targets.end());
  EXPECT_EQ(static_cast<dim_t>(targets.size()), expected_targets());
}

TEST_P(EveryBatching, NoBatchIsLargerThanAsked) {
  Batcher batcher = make();
  EXPECT_EQ(batcher.batch_size(), kBatch);
  for (const TokenBatch& batch : epoch_of(batcher)) {
    EXPECT_LE(batch.layout.batch(), kBatch);
    EXPECT_LE(batch.layout.steps(), kContext);
    EXPECT_GT(batch.tokens(), 0);
  }
}

TEST_P(EveryBatching, SharesTogetherAreTheBatch) {
  constexpr dim_t kShares = 3;
  Batcher whole = make();
  std::vector<Batcher> sharers(kShares, make());
  for (dim_t i = 0; i < whole.batches_per_epoch(); ++i) {
    TokenBatch batch;
    whole.next(batch);
    std::vector<TokenBatch> shares(kShares);
    for (dim_t share = 0; share < kShares; ++share) {
      const auto at = static_cast<std::size_t>(share);
      sharers[at].next(shares[at], {share, kShares});
      EXPECT_EQ(sharers[at].last_batch_tokens(), batch.tokens());
      EXPECT_EQ(shares[at].layout.batch(),
                (BatchShare{share, kShares}.rows_of(batch.layout.batch())));
      expect_well_packed(shares[at]);
      // Row b of the share is row share + b * kShares of the batch.
      for (dim_t b = 0; b < shares[at].layout.batch(); ++b) {
        EXPECT_EQ(shares[at].targets[row(shares[at], 0, b)],
                  batch.targets[row(batch, 0, share + b * kShares)]);
      }
    }
    EXPECT_EQ(sorted_targets(shares), sorted_targets({batch}));
  }
}

TEST_P(EveryBatching, SameSeedSameBatches) {
  Batcher first = make(7);
  Batcher second = make(7);
  for (dim_t i = 0; i < 2 * first.batches_per_epoch() + 1; ++i) {
    TokenBatch a;
    TokenBatch b;
    first.next(a);
    second.next(b);
    ASSERT_TRUE(equal(a, b)) << "batch " << i;
  }
}

TEST_P(EveryBatching, SeekingEqualsPlayingForward) {
  Batcher played = make();
  Batcher sought = make();
  for (dim_t i = 0; i < 3 * played.batches_per_epoch(); ++i) {
    sought.seek({2, 0});  // from anywhere
    sought.seek(played.position());
    TokenBatch a;
    TokenBatch b;
    played.next(a);
    sought.next(b);
    ASSERT_TRUE(equal(a, b)) << "batch " << i;
    ASSERT_EQ(played.position(), sought.position());
  }
}

TEST_P(EveryBatching, PositionMovesIntoTheNextEpoch) {
  Batcher batcher = make();
  EXPECT_EQ(batcher.position(), (BatchPosition{0, 0}));
  EXPECT_TRUE(batcher.at_epoch_start());
  TokenBatch batch;
  batcher.next(batch);
  EXPECT_EQ(batcher.position(), (BatchPosition{0, 1}));
  EXPECT_FALSE(batcher.at_epoch_start());
  batcher.seek({0, batcher.batches_per_epoch() - 1});
  batcher.next(batch);
  EXPECT_EQ(batcher.position(), (BatchPosition{1, 0}));
  EXPECT_TRUE(batcher.at_epoch_start());
}

TEST_P(EveryBatching, SeekRefusesPositionsThatAreNotThere) {
  Batcher batcher = make();
  EXPECT_THROW(batcher.seek({0, batcher.batches_per_epoch()}), DataError);
  EXPECT_THROW(batcher.seek({0, -1}), DataError);
  EXPECT_THROW(batcher.seek({-1, 0}), DataError);
}

TEST_P(EveryBatching, UnshuffledEpochsAreEqualForEverySeed) {
  Batcher batcher = make(1, false);
  Batcher other = make(2, false);
  const auto first = epoch_of(batcher);
  const auto second = epoch_of(batcher);
  const auto seeded = epoch_of(other);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(equal(first[i], second[i]));
    EXPECT_TRUE(equal(first[i], seeded[i]));
  }
}

TEST_P(EveryBatching, RefillingABatchLeavesNothingOfTheOldOne) {
  Batcher batcher = make();
  TokenBatch reused;
  TokenBatch fresh;
  for (dim_t i = 0; i < batcher.batches_per_epoch(); ++i) {
    const BatchPosition position = batcher.position();
    batcher.next(reused);
    batcher.seek(position);
    fresh = {};
    batcher.next(fresh);
    ASSERT_TRUE(equal(reused, fresh));
  }
}

TEST_P(EveryBatching, SizesThatMakeNoSenseAreRefused) {
  EXPECT_THROW(Batcher(split_, GetParam(), 0, 8, kBos, 0, true), ConfigError);
  EXPECT_THROW(Batcher(split_, GetParam(), 12, 0, kBos, 0, true), ConfigError);
}

TEST_P(EveryBatching, EmptySplitIsRefused) {
  const Split empty;
  EXPECT_THROW(Batcher(empty, GetParam(), 12, 1, kBos, 0, true), DataError);
  const Split single = split_of({1});
  EXPECT_THROW(Batcher(single, GetParam(), 12, 1, kBos, 0, true), DataError);
}

INSTANTIATE_TEST_SUITE_P(Batchings, EveryBatching,
                         ::testing::Values(Batching::sentences, Batching::blocks, Batching::stream),
                         [](const auto& instance) {
                           return instance.param == Batching::sentences ? "Sentences"
                                  : instance.param == Batching::blocks  ? "Blocks"
                                                                        : "Stream";
                         });

class ShuffledBatching : public EveryBatching {};

TEST_P(ShuffledBatching, EpochsAndSeedsDiffer) {
  Batcher batcher = make(7);
  Batcher other = make(8);
  const auto first = epoch_of(batcher);
  const auto second = epoch_of(batcher);
  EXPECT_FALSE(equal(first.front(), second.front()));
  EXPECT_FALSE(equal(first.front(), epoch_of(other).front()));
  EXPECT_EQ(sorted_targets(first), sorted_targets(second));
}

INSTANTIATE_TEST_SUITE_P(Batchings, ShuffledBatching,
                         ::testing::Values(Batching::sentences, Batching::blocks));

// --- sentences -----------------------------------------------------------------------------------

TEST(Sentences, ArePackedLongestFirst) {
  const Split split = split_of({2, 4, 3});
  Batcher batcher(split, Batching::sentences, 10, 3, kBos, 0, false);
  TokenBatch batch;
  batcher.next(batch);
  // Lines 0 1 | 2 3 4 5 | 6 7 8, sorted: the second, the third, the first.
  EXPECT_THAT(batch.inputs, ElementsAre(kBos, kBos, kBos, 2, 6, 0, 3, 7, 4));
  EXPECT_THAT(batch.targets, ElementsAre(2, 6, 0, 3, 7, 1, 4, 8, 5));
  ASSERT_EQ(batch.layout.steps(), 4);
  EXPECT_EQ(batch.layout.rows_at(1), 3);
  EXPECT_EQ(batch.layout.rows_at(2), 2);
  EXPECT_EQ(batch.layout.rows_at(3), 1);
}

TEST(Sentences, OfEqualLengthKeepTheirOrder) {
  const Split split = split_of({2, 3, 2, 3});
  Batcher batcher(split, Batching::sentences, 10, 4, kBos, 0, false);
  TokenBatch batch;
  batcher.next(batch);
  batch.targets.resize(4);
  EXPECT_THAT(batch.targets, ElementsAre(2, 7, 0, 5));
}

TEST(Sentences, LongLinesAreCutAtContextPlusOne) {
  const Split split = split_of({9, 2});
  Batcher batcher(split, Batching::sentences, 4, 2, kBos, 0, false);
  TokenBatch batch;
  batcher.next(batch);
  // <bos> 0 1 2 3: context + 1 tokens, of which the last is only a target.
  EXPECT_EQ(batch.layout.steps(), 4);
  EXPECT_EQ(batcher.batches_per_epoch(), 1);
  EXPECT_EQ(sorted_targets({batch}), (std::vector<token_t>{0, 1, 2, 3, 9, 10}));
}

TEST(Sentences, SayHowMuchOfTheirLinesIsCutOff) {
  const Split split = split_of({5, 2});
  EXPECT_EQ(tokens_cut_off(split, Batching::sentences, 3), 2);
  EXPECT_EQ(tokens_cut_off(split, Batching::sentences, 5), 0);
  EXPECT_EQ(tokens_cut_off(split, Batching::blocks, 3), 0);
}

TEST(Sentences, BlankLinesAreLeftOut) {
  const Split split = split_of({1, 3, 1, 1, 2, 1});
  Batcher batcher(split, Batching::sentences, 10, 8, kBos, 0, true);
  EXPECT_EQ(sorted_targets(epoch_of(batcher)), (std::vector<token_t>{1, 2, 3, 6, 7}));
}

TEST(Sentences, EveryTokenIsATargetOnceWhereTheContextIsLong) {
  const Split split = random_split(100, 20);
  Batcher batcher(split, Batching::sentences, 20, 7, kBos, 3, true);
  std::vector<token_t> expected;
  for (dim_t line = 0; line < split.lines(); ++line) {
    if (split.line_length(line) == 1) continue;
    for (dim_t i = split.line_start(line); i < split.line_start(line + 1); ++i) {
      expected.push_back(static_cast<token_t>(i));
    }
  }
  EXPECT_EQ(sorted_targets(epoch_of(batcher)), expected);
}

TEST(Sentences, EverySequenceStartsWithBosAndNoneHasItInside) {
  const Split split = random_split(100, 20);
  Batcher batcher(split, Batching::sentences, 12, 7, kBos, 3, true);
  for (const TokenBatch& batch : epoch_of(batcher)) {
    EXPECT_EQ(std::count(batch.inputs.begin(), batch.inputs.end(), kBos), batch.layout.batch());
    for (dim_t b = 0; b < batch.layout.batch(); ++b)
      EXPECT_EQ(batch.inputs[row(batch, 0, b)], kBos);
    EXPECT_EQ(std::count(batch.targets.begin(), batch.targets.end(), kBos), 0);
  }
}

TEST(Sentences, FewerThanABatchMakeOneSmallerBatch) {
  const Split split = split_of({3, 3});
  Batcher batcher(split, Batching::sentences, 10, 100, kBos, 0, true);
  EXPECT_EQ(batcher.batches_per_epoch(), 1);
  TokenBatch batch;
  batcher.next(batch);
  EXPECT_EQ(batch.layout.batch(), 2);
}

TEST(Sentences, NothingButBlankLinesIsRefused) {
  const Split split = split_of({1, 1, 1});
  EXPECT_THROW(Batcher(split, Batching::sentences, 10, 1, kBos, 0, true), DataError);
}

TEST(Sentences, CarryNoState) {
  const Split split = split_of({3});
  EXPECT_FALSE(Batcher(split, Batching::sentences, 10, 1, kBos, 0, true).carries_state());
}

// --- blocks --------------------------------------------------------------------------------------

TEST(Blocks, RunThroughTheTextAndKeepTheRest) {
  const Split split = split_of({5, 1, 5});
  Batcher batcher(split, Batching::blocks, 4, 2, kBos, 0, false);
  const auto batches = epoch_of(batcher);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_THAT(batches[0].inputs, ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(batches[0].targets, ElementsAre(1, 5, 2, 6, 3, 7, 4, 8));
  EXPECT_THAT(batches[1].inputs, ElementsAre(8, 9));
  EXPECT_THAT(batches[1].targets, ElementsAre(9, 10));
}

TEST(Blocks, EveryTokenButTheFirstIsATargetOnce) {
  for (const dim_t size : {2, 24, 25, 26, 100}) {
    const Split split = split_of({size});
    Batcher batcher(split, Batching::blocks, 12, 3, kBos, 1, true);
    const auto targets = sorted_targets(epoch_of(batcher));
    ASSERT_EQ(static_cast<dim_t>(targets.size()), size - 1);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      EXPECT_EQ(targets[i], static_cast<token_t>(i) + 1);
    }
  }
}

// --- stream --------------------------------------------------------------------------------------

TEST(Stream, EachSequenceGoesOnWhereItStopped) {
  const Split split = random_split(50, 20);
  Batcher batcher(split, Batching::stream, 7, 4, kBos, 0, true);
  EXPECT_TRUE(batcher.carries_state());
  const auto batches = epoch_of(batcher);
  ASSERT_GT(batches.size(), 2U);
  for (std::size_t i = 0; i + 1 < batches.size(); ++i) {
    const TokenBatch& now = batches[i];
    const TokenBatch& then = batches[i + 1];
    EXPECT_EQ(now.layout.steps(), 7);
    for (dim_t b = 0; b < 4; ++b) {
      EXPECT_EQ(now.targets[row(now, 6, b)], then.inputs[row(then, 0, b)]);
    }
  }
}

TEST(Stream, CutsTheTextIntoEqualStreams) {
  // 12 tokens are 11 targets: 3 streams of 3, and 2 left out at the end.
  const Split split = split_of({12});
  Batcher batcher(split, Batching::stream, 2, 3, kBos, 0, true);
  const auto batches = epoch_of(batcher);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_THAT(batches[0].inputs, ElementsAre(0, 3, 6, 1, 4, 7));
  EXPECT_THAT(batches[0].targets, ElementsAre(1, 4, 7, 2, 5, 8));
  EXPECT_THAT(batches[1].inputs, ElementsAre(2, 5, 8));
  EXPECT_THAT(batches[1].targets, ElementsAre(3, 6, 9));
}

TEST(Stream, OneStreamReadsEverything) {
  const Split split = split_of({40, 3});
  Batcher batcher(split, Batching::stream, 10, 1, kBos, 0, true);
  EXPECT_EQ(batcher.batches_per_epoch(), 5);
  EXPECT_EQ(sorted_targets(epoch_of(batcher)).size(), 42U);
}

TEST(Stream, TooShortTextSaysHowManyStreamsArePossible) {
  const Split split = split_of({10});
  EXPECT_NO_THROW(Batcher(split, Batching::stream, 5, 9, kBos, 0, true));
  EXPECT_THAT(
      message_of<DataError>([&] { Batcher(split, Batching::stream, 5, 10, kBos, 0, true); }),
      HasSubstr("at most 9"));
}

// --- a real corpus -------------------------------------------------------------------------------

TEST(PennTreebankBatches, CoverTheTextInSentences) {
  const auto corpus = find_corpus("ptb");
  if (!corpus) GTEST_SKIP() << "no Penn Treebank here";
  DataConfig config;
  config.corpus = *corpus;
  const Dataset dataset = load_dataset(config, 0);
  // The longest line has 82 words, so a context of 100 cuts nothing.
  Batcher batcher(dataset.train, Batching::sentences, 100, 128, dataset.tokenizer->bos(), 1, true);
  EXPECT_EQ(batcher.batches_per_epoch(), (42'068 + 127) / 128);
  std::vector<token_t> targets = sorted_targets(epoch_of(batcher));
  EXPECT_EQ(targets.size(), 887'521U + 42'068U);
  std::vector<token_t> tokens(dataset.train.tokens.begin(), dataset.train.tokens.end());
  std::sort(tokens.begin(), tokens.end());
  EXPECT_EQ(targets, tokens);
}

}  // namespace
}  // namespace dsf
