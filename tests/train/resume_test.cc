#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "dsf/base/error.h"
#include "dsf/run/checkpoint.h"
#include "tests/train/small_run.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr dim_t kSteps = 30;

/// A run of these settings that is stopped behind step `stop` and resumed equals one that is not.
void expect_resume_leaves_no_trace(std::vector<std::string> settings, dim_t stop) {
  const TempDirectory directory;
  const fs::path corpus = directory.write("text.txt", small_text(150));
  settings.push_back("train.steps=" + std::to_string(kSteps));
  small_run(directory / "whole", small_settings(corpus, settings));
  const RunSummary stopped =
      small_run(directory / "cut", small_settings(corpus, settings), false, stop);
  ASSERT_TRUE(stopped.interrupted);
  ASSERT_EQ(stopped.steps, stop);
  const RunSummary resumed = small_run(directory / "cut", {}, true);
  EXPECT_EQ(resumed.steps, kSteps);
  EXPECT_EQ(losses_of(directory / "cut"), losses_of(directory / "whole"));
  EXPECT_EQ(snapshot(directory / "cut" / "checkpoints"),
            snapshot(directory / "whole" / "checkpoints"));
}

using Case =
    std::tuple<std::string, std::string, dim_t>;  // batching, method, steps before the stop

class Resume : public ::testing::TestWithParam<Case> {};
TEST_P(Resume, StoppedAndResumedRunEqualsTheUninterruptedOneBitForBit) {
  const auto& [batching, method, stop] = GetParam();
  expect_resume_leaves_no_trace({"data.batching=" + batching, "feedback.method=" + method}, stop);
}

// 120 lines in batches of 8 are 15 steps per epoch: the stops lie inside, at the end of and behind
// the first epoch, and on and off the steps that log and evaluate.
INSTANTIATE_TEST_SUITE_P(Batchings, Resume,
                         ::testing::Combine(::testing::Values("sentences", "blocks", "stream"),
                                            ::testing::Values("dsf", "bptt"),
                                            ::testing::Values(4, 15, 16)));

// A fitted diagonal is fitted on the first batches and, if it adapts, again every 7: the stops
// lie inside the calibration, just behind it, and between two refits.
class ResumeFitted : public ::testing::TestWithParam<Case> {};
TEST_P(ResumeFitted, StoppedAndResumedRunEqualsTheUninterruptedOneBitForBit) {
  const auto& [batching, method, stop] = GetParam();
  expect_resume_leaves_no_trace(
      {"data.batching=" + batching, "feedback.method=" + method, "feedback.refit_every=7"}, stop);
}
INSTANTIATE_TEST_SUITE_P(Batchings, ResumeFitted,
                         ::testing::Combine(::testing::Values("sentences"),
                                            ::testing::Values("adaptive"),
                                            ::testing::Values(2, 4, 16)));

std::vector<std::string> mixers_with_a_state() {
  std::vector<std::string> names = choice_names<MixerKind>();
  std::erase(names, name_of(MixerKind::attention));
  return names;
}

// A stream carries each mixer's own kind of state. The stops lie inside the first epoch and the
// second, where that state is not zero.
class ResumeStream : public ::testing::TestWithParam<std::tuple<std::string, dim_t>> {};
TEST_P(ResumeStream, StoppedAndResumedRunEqualsTheUninterruptedOneBitForBit) {
  const auto& [mixer, stop] = GetParam();
  expect_resume_leaves_no_trace({"data.batching=stream", "model.mixer=" + mixer}, stop);
}
INSTANTIATE_TEST_SUITE_P(Mixers, ResumeStream,
                         ::testing::Combine(::testing::ValuesIn(mixers_with_a_state()),
                                            ::testing::Values(4, 20)));

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
