// A rank that dies, stops or is asked to stop.

#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "dsf/base/timer.h"
#include "tests/dist/small_parallel_run.h"

namespace dsf {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr double kWatchdogSeconds = 3.0;
// From the signal to mpirun's end: the watchdog's patience, one more pulse, and what mpirun takes
// to end the others (it gives them a second or two), on a machine with other work.
constexpr double kEndSeconds = 30.0;

class RankFailure : public ParallelRuns {
 protected:
  /// A run on three ranks that would go on for hours, and has saved a checkpoint.
  void start(const std::string& run) {
    const Words for_hours = {"train.steps=100000000", "train.eval_every=1000000",
                             "train.checkpoint_every=20", "train.log_every=1000",
                             "train.watchdog_seconds=" + std::to_string(kWatchdogSeconds)};
    const Words command = joined({dsf_program()}, train_shared(run, for_hours));
    mpirun_ = start_program(on_ranks(3, command), path(run + ".log"));
    const auto checkpoint = directory_ / run / "checkpoints" / "last";
    constexpr int kTries = 1200;
    for (int i = 0; i < kTries && !std::filesystem::exists(checkpoint); ++i) {
      std::this_thread::sleep_for(milliseconds(50));
    }
    ASSERT_TRUE(std::filesystem::exists(checkpoint)) << errors(run);
  }

  void signal_rank(int rank, int signal) const {
    ASSERT_EQ(::kill(process_of_rank(mpirun_, rank), signal), 0);
  }

  std::string errors(const std::string& run) const { return slurp(path(run + ".log.err")); }

  void expect_usable(const std::string& run) const {
    run_ok({"eval", path(run), "--checkpoint", "last"});
  }

  /// Signals `rank`; the job must end by itself, not with 0, with a message that has `message` in
  /// it, and leave a checkpoint that loads.
  void expect_end(const std::string& run, int rank, int signal, const std::string& message) {
    ASSERT_NO_FATAL_FAILURE(start(run));
    const Timer timer;
    ASSERT_NO_FATAL_FAILURE(signal_rank(rank, signal));
    EXPECT_NE(wait_for(mpirun_), 0);
    EXPECT_LT(timer.seconds(), kEndSeconds);
    EXPECT_THAT(errors(run), HasSubstr(message));
    expect_usable(run);
  }

  int mpirun_ = 0;
};

TEST_F(RankFailure, DeadRankEndsTheJobAndIsNamed) {
  DSF_NEEDS_RANKS();
  expect_end("run", 1, SIGKILL, "process rank 1");
}

TEST_F(RankFailure, StoppedRankIsFoundByTheWatchdogAndNamed) {
  DSF_NEEDS_RANKS();
  expect_end("run", 0, SIGSTOP, "rank 0 has given no sign of life");
}

TEST_F(RankFailure, SigtermToAnyRankSavesOnceAndEndsAll) {
  DSF_NEEDS_RANKS();
  ASSERT_NO_FATAL_FAILURE(start("run"));
  ASSERT_NO_FATAL_FAILURE(signal_rank(2, SIGTERM));
  EXPECT_EQ(wait_for(mpirun_), 0) << errors("run");
  const auto log = log_of("run");
  EXPECT_EQ(log.back()["event"], "interrupted");
  const auto checkpoint =
      std::filesystem::read_symlink(directory_ / "run" / "checkpoints" / "last");
  EXPECT_THAT(checkpoint.string(), HasSubstr(std::to_string(log.back()["step"].get<int>())));
  expect_usable("run");
}

class RankFailureLong : public RankFailure {};

TEST_F(RankFailureLong, TwentyOfTwentyDeadRanksEndTheJob) {
  DSF_NEEDS_RANKS();
  for (int i = 0; i < 20; ++i) {
    const int rank = i % 3;
    expect_end("run" + std::to_string(i), rank, SIGKILL, "process rank " + std::to_string(rank));
  }
}

TEST_F(RankFailureLong, TwentyOfTwentyStoppedRanksEndTheJob) {
  DSF_NEEDS_RANKS();
  for (int i = 0; i < 20; ++i) {
    const int rank = i % 3;
    expect_end("run" + std::to_string(i), rank, SIGSTOP,
               "rank " + std::to_string(rank) + " has given no sign of life");
  }
}

}  // namespace
}  // namespace dsf
