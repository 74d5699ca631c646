// Training on several ranks is training on one.

#include <gmock/gmock.h>

#include <cmath>

#include "tests/dist/small_parallel_run.h"

namespace dsf {
namespace {

using ::testing::HasSubstr;

// The ranks sum the same numbers in another order, a relative difference of a few 2^-24 a step;
// 50 steps of a model of this size let it grow to less than 1e-6.
constexpr double kSame = 1e-5;

class DataParallel : public ParallelRuns {
 protected:
  void expect_same_losses(const std::string& run, const std::string& reference,
                          double tolerance = kSame) const {
    const std::vector<double> ours = losses_of(run);
    const std::vector<double> theirs = losses_of(reference);
    ASSERT_EQ(ours.size(), theirs.size());
    ASSERT_GE(ours.size(), 50U);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_NEAR(ours[i], theirs[i], tolerance * theirs[i]) << run << ", line " << i;
    }
  }
};

TEST_F(DataParallel, AnyNumberOfRanksHasTheLossesOfOne) {
  DSF_NEEDS_RANKS();
  const Words settings = {"data.batching=sentences", "train.steps=50"};
  for (const int ranks : {1, 2, 3, 4}) {
    ASSERT_NO_FATAL_FAILURE(train_on(ranks, "on" + std::to_string(ranks), settings));
    EXPECT_EQ(log_of("on" + std::to_string(ranks))[0]["ranks"], ranks);
  }
  for (const char* run : {"on2", "on3", "on4"}) expect_same_losses(run, "on1");
}

TEST_F(DataParallel, CarriedStatesBelongToTheRowsOfTheBatch) {
  DSF_NEEDS_RANKS();
  const Words settings = {"data.batching=stream", "train.steps=50", "model.mixer=lstm"};
  ASSERT_NO_FATAL_FAILURE(train_on(1, "on1", settings));
  ASSERT_NO_FATAL_FAILURE(train_on(3, "on3", settings));
  expect_same_losses("on3", "on1");
}

TEST_F(DataParallel, ShardedMomentsMakeTheSameUpdates) {
  DSF_NEEDS_RANKS();
  const Words settings = {"data.batching=blocks", "train.steps=50"};
  ASSERT_NO_FATAL_FAILURE(train_on(1, "whole", settings));
  ASSERT_NO_FATAL_FAILURE(train_on(3, "shards", settings, {"--shard-optimizer"}));
  expect_same_losses("shards", "whole");
}

TEST_F(DataParallel, CheckpointOfTwoRanksGoesOnWithOneAndThree) {
  DSF_NEEDS_RANKS();
  const Words settings = {"data.batching=stream", "train.steps=50"};
  ASSERT_NO_FATAL_FAILURE(train_on(2, "straight", settings));
  // Stopped and resumed with other numbers of ranks, and moments in shards on the way.
  const Words first = {"data.batching=stream", "train.steps=30"};
  for (const int ranks : {1, 3}) {
    const std::string run = "then" + std::to_string(ranks);
    ASSERT_NO_FATAL_FAILURE(train_on(2, run, first, {"--shard-optimizer"}));
    ASSERT_NO_FATAL_FAILURE(train_on(ranks, run, {"train.steps=50"}, {"--resume"}));
    const std::vector<double> resumed = losses_of(run);
    const std::vector<double> straight = losses_of("straight");
    EXPECT_NEAR(resumed.back(), straight.back(), kSame * straight.back());
    // The run that ended at 30 evaluated there: one line more.
    EXPECT_EQ(resumed.size(), straight.size() + 1);
  }
}

// Killed before its first checkpoint, it has a configuration, a tokenizer and an empty log. A model
// large enough that moments read from beside a shard, instead of from the whole, are not all zero.
TEST_F(DataParallel, ShardedRunWithoutACheckpointStartsAgainFromTheBeginning) {
  DSF_NEEDS_RANKS();
  const Words settings = {"data.batching=stream", "train.steps=50", "model.hidden=48"};
  ASSERT_NO_FATAL_FAILURE(train_on(2, "straight", settings, {"--shard-optimizer"}));
  for (const std::string name : {"config.toml", "tokenizer"}) {
    directory_.write("killed/" + name, slurp(directory_ / "straight" / name));
  }
  directory_.write("killed/log.jsonl", "");
  ASSERT_NO_FATAL_FAILURE(train_on(2, "killed", settings, {"--resume"}));
  expect_same_losses("killed", "straight");
}

TEST_F(DataParallel, CompressedGradientsTrainAsWell) {
  DSF_NEEDS_RANKS();
  const Words settings = {"data.batching=sentences", "train.steps=50"};
  ASSERT_NO_FATAL_FAILURE(train_on(2, "exact", settings));
  ASSERT_NO_FATAL_FAILURE(
      train_on(2, "rounded", joined(settings, {"train.compress_gradients=true"})));
  const std::vector<double> exact = losses_of("exact");
  const std::vector<double> rounded = losses_of("rounded");
  ASSERT_EQ(exact.size(), rounded.size());
  EXPECT_NE(exact.back(), rounded.back()) << "nothing was rounded";
  // A gradient is off by 2^-8 of itself at the most, and makes up for it in the next step.
  EXPECT_NEAR(rounded.back(), exact.back(), std::ldexp(exact.back(), -8));
}

TEST_F(DataParallel, OneRankSpeaksAndWrites) {
  DSF_NEEDS_RANKS();
  const ProgramResult result =
      run_dsf_on_ranks(3, train_shared("run", {"train.steps=3", "train.log_every=1"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("3 ranks, each with 1 thread"));
  EXPECT_EQ(result.err.find("starting at step"), result.err.rfind("starting at step"));
  EXPECT_EQ(result.out.find("done: "), result.out.rfind("done: "));
  EXPECT_EQ(log_of("run").size(), 1 + 3 + 1 + 1U) << "start, steps, evaluation, done";
}

TEST_F(DataParallel, WrongInputIsToldOnceAndWritesNothing) {
  DSF_NEEDS_RANKS();
  const auto told_once = [&](const Words& words, const std::string& message) {
    const ProgramResult result = run_dsf_on_ranks(3, words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.err.find("error: "), result.err.rfind("error: ")) << result.err;
    EXPECT_FALSE(std::filesystem::exists(directory_ / "run"));
  };
  told_once(train_shared("run", {"train.batch=2"}), "train.batch = 2: 3 ranks share");
  told_once(train_shared("run", {"feedback.method=adaptive"}),
            "fits its diagonal on a whole batch");
  told_once({"train", "--data", path("missing.txt"), "--out", path("run")}, "missing.txt");
}

}  // namespace
}  // namespace dsf
