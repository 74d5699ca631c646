#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "dsf/base/error.h"
#include "tests/train/small_run.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr dim_t kSteps = 30;

using Case =
    std::tuple<const char*, const char*, dim_t>;  // batching, method, steps before the stop

class Resume : public ::testing::TestWithParam<Case> {
 protected:
  std::vector<Assignment> settings() const {
    return small_settings(corpus_, {std::string("data.batching=") + std::get<0>(GetParam()),
                                    std::string("feedback.method=") + std::get<1>(GetParam()),
                                    "train.steps=" + std::to_string(kSteps)});
  }
  TempDirectory directory_;
  fs::path corpus_ = directory_.write("text.txt", small_text(150));
};

TEST_P(Resume, StoppedAndResumedRunEqualsTheUninterruptedOneBitForBit) {
  small_run(directory_ / "whole", settings());
  const RunSummary stopped =
      small_run(directory_ / "cut", settings(), false, std::get<2>(GetParam()));
  ASSERT_TRUE(stopped.interrupted);
  ASSERT_EQ(stopped.steps, std::get<2>(GetParam()));
  const RunSummary resumed = small_run(directory_ / "cut", {}, true);
  EXPECT_EQ(resumed.steps, kSteps);
  EXPECT_EQ(losses_of(directory_ / "cut"), losses_of(directory_ / "whole"));
  EXPECT_EQ(snapshot(directory_ / "cut" / "checkpoints"),
            snapshot(directory_ / "whole" / "checkpoints"));
}

// 120 lines in batches of 8 are 15 steps an epoch: the stops lie inside, at the end of and behind
// the first epoch, and on and off the steps that log and evaluate.
INSTANTIATE_TEST_SUITE_P(Batchings, Resume,
                         ::testing::Combine(::testing::Values("sentences", "blocks", "stream"),
                                            ::testing::Values("dsf", "bptt"),
                                            ::testing::Values(4, 15, 16)));

// A fitted diagonal is fitted on the first batches and, where it adapts, again every 7: the stops
// lie inside the calibration, just behind it, and between two refits.
class ResumeFitted : public Resume {};
TEST_P(ResumeFitted, StoppedAndResumedRunEqualsTheUninterruptedOneBitForBit) {
  std::vector<Assignment> with_refits = settings();
  with_refits.push_back(parse_assignment("feedback.refit_every=7"));
  small_run(directory_ / "whole", with_refits);
  small_run(directory_ / "cut", with_refits, false, std::get<2>(GetParam()));
  small_run(directory_ / "cut", {}, true);
  EXPECT_EQ(snapshot(directory_ / "cut" / "checkpoints"),
            snapshot(directory_ / "whole" / "checkpoints"));
}
INSTANTIATE_TEST_SUITE_P(Batchings, ResumeFitted,
                         ::testing::Combine(::testing::Values("sentences"),
                                            ::testing::Values("fitted", "adaptive", "learned"),
                                            ::testing::Values(2, 4, 16)));

class ResumeFromDisk : public ::testing::Test {
 protected:
  std::vector<Assignment> settings(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"data.batching=stream", "train.steps=20"};
    all.insert(all.end(), more.begin(), more.end());
    return small_settings(corpus_, all);
  }
  TempDirectory directory_;
  fs::path corpus_ = directory_.write("text.txt", small_text(150));
};

TEST_F(ResumeFromDisk, KilledRunGoesOnFromItsLastCheckpointWithoutDoubleLines) {
  small_run(directory_ / "whole", settings());
  // Killed at step 19, that is, without a word: the checkpoint of step 16 and a log up to 18 are
  // left.
  small_run(directory_ / "cut", settings({"train.steps=16"}));
  const std::string log = slurp(directory_ / "whole" / "log.jsonl");
  std::ofstream(directory_ / "cut" / "log.jsonl") << log.substr(0, log.find("\"step\":20")) << "\n";
  small_run(directory_ / "cut", settings(), true);
  EXPECT_EQ(losses_of(directory_ / "cut"), losses_of(directory_ / "whole"));
}

TEST_F(ResumeFromDisk, LongerRunContinuesAFinishedOne) {
  small_run(directory_ / "long", settings({"train.steps=24"}));
  small_run(directory_ / "short", settings({"train.steps=16"}));
  small_run(directory_ / "short", {parse_assignment("train.steps=24")}, true);
  // Step 16 was the last of the first run: it has a train line more than the other.
  EXPECT_EQ(slurp(directory_ / "short" / "checkpoints" / "last" / "weights.safetensors"),
            slurp(directory_ / "long" / "checkpoints" / "last" / "weights.safetensors"));
  EXPECT_EQ(slurp(directory_ / "short" / "checkpoints" / "last" / "state.json"),
            slurp(directory_ / "long" / "checkpoints" / "last" / "state.json"));
}

TEST_F(ResumeFromDisk, DamagedCheckpointFallsBackToTheOneBefore) {
  small_run(directory_ / "whole", settings());
  small_run(directory_ / "cut", settings(), false, 18);
  const fs::path last = fs::canonical(directory_ / "cut" / "checkpoints" / "last");
  ASSERT_EQ(last.filename(), "step-00000018");
  ASSERT_TRUE(fs::exists(directory_ / "cut" / "checkpoints" / "best"));
  std::ofstream(last / "weights.safetensors", std::ios::app) << "x";
  small_run(directory_ / "cut", {}, true);
  EXPECT_EQ(losses_of(directory_ / "cut"), losses_of(directory_ / "whole"));
  // The damaged one is kept for whoever wants to look at it, but counts no more.
  EXPECT_TRUE(fs::exists(directory_ / "cut" / "checkpoints" / "step-00000018.damaged"));
  EXPECT_THAT(list_checkpoints(directory_ / "cut" / "checkpoints"),
              Not(Contains(directory_ / "cut" / "checkpoints" / "step-00000018")));
}

TEST_F(ResumeFromDisk, WithNoWholeCheckpointLeftItFailsAndTouchesNothing) {
  small_run(directory_ / "run", settings());
  for (const fs::path& checkpoint : list_checkpoints(directory_ / "run" / "checkpoints")) {
    fs::remove(checkpoint / "optimizer.safetensors");
  }
  const auto before = snapshot(directory_.path());
  EXPECT_THROW(small_run(directory_ / "run", {}, true), CheckpointError);
  EXPECT_EQ(snapshot(directory_.path()), before);
}

TEST_F(ResumeFromDisk, OtherTextUnderTheSameNameIsRefused) {
  small_run(directory_ / "run", settings());
  directory_.write("text.txt", small_text(150, 8));
  const auto before = snapshot(directory_.path());
  try {
    small_run(directory_ / "run", {parse_assignment("train.steps=40")}, true);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("data.corpus"));
  }
  EXPECT_EQ(snapshot(directory_.path()), before);
}

TEST_F(ResumeFromDisk, MovedTextIsAccepted) {
  small_run(directory_ / "run", settings());
  fs::rename(corpus_, directory_ / "moved.txt");
  const RunSummary summary = small_run(
      directory_ / "run",
      parse_assignments({"data.corpus=" + (directory_ / "moved.txt").string(), "train.steps=22"}),
      true);
  EXPECT_EQ(summary.steps, 22);
}

TEST_F(ResumeFromDisk, FinishedRunStaysAsItIs) {
  small_run(directory_ / "run", settings());
  const auto checkpoints = snapshot(directory_ / "run" / "checkpoints");
  const std::vector<std::string> losses = losses_of(directory_ / "run");
  const RunSummary summary = small_run(directory_ / "run", {}, true);
  EXPECT_EQ(summary.steps, 20);
  EXPECT_EQ(snapshot(directory_ / "run" / "checkpoints"), checkpoints);
  EXPECT_EQ(losses_of(directory_ / "run"), losses);
}

}  // namespace
}  // namespace dsf
