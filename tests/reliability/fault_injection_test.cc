// System calls that fail: the run ends with exit code 1 and a reason, and nothing saved is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reliability/lives.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Injected {
  const char* name;     // in DSF_FAULT
  const char* message;  // the system's word for it
};
constexpr Injected kErrors[] = {{"ENOSPC", "No space left on device"},
                                {"EIO", "Input/output error"},
                                {"short", "No space left on device"}};

// One life of `run` in which the k-th call fails. False if it has fewer calls than k.
bool fail_once(Lives& lives, const fs::path& run, const Injected& error, int k) {
  const dim_t before = is_run_directory(run) ? Lives::last_checkpoint(run) : -1;
  ProgramResult result;
  {
    const ScopedVariable fault("DSF_FAULT", fmt::format("any:{}:{}", k, error.name));
    result = lives.live(run);
  }
  if (result.exit_code == 0) return false;
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("error: cannot "), HasSubstr(error.message)));
  if (before >= 0) {
    EXPECT_GE(Lives::last_checkpoint(run), before);
  }
  return true;
}

// A run that is as short as can be and makes every kind of call there is: four checkpoints, of
// which two are pruned, and two evaluations, of which each changes the link `best`.
constexpr dim_t kShortRun = 8;

// Every call of a new run, or of one that goes on behind its second checkpoint. Returns how many
// calls were made to fail.
int fail_every_call(bool resumed, const Injected& error) {
  Lives lives("stream", kShortRun);
  fs::path stopped;
  if (resumed) {
    stopped = lives.fresh();
    const ScopedVariable crash("DSF_CRASH_AT", "checkpoint.end:2");
    EXPECT_EQ(lives.live(stopped).exit_code, kKilled);
  }
  for (int k = 1;; ++k) {
    SCOPED_TRACE(fmt::format("call {}", k));
    const fs::path run = resumed ? lives.copy_of(stopped) : lives.fresh();
    if (!fail_once(lives, run, error, k)) return k - 1;
    const ProgramResult after = lives.live(run);
    EXPECT_EQ(after.exit_code, 0) << after.err;
    EXPECT_TRUE(result_of(run) == lives.undisturbed());
    if (::testing::Test::HasFailure()) return k;
    Lives::discard(run);
  }
}

TEST(FaultInjection, FailingCallsEndTheRunWithAReasonAndLoseNothing) {
  Lives lives("stream");
  const fs::path run = lives.fresh();
  {
    const ScopedVariable crash("DSF_CRASH_AT", "checkpoint.end:9");
    ASSERT_EQ(lives.live(run).exit_code, kKilled);
  }
  for (const Injected& error : kErrors) {
    for (const int k : {1, 12, 40}) {
      SCOPED_TRACE(fmt::format("call {}, {}", k, error.name));
      EXPECT_TRUE(fail_once(lives, run, error, k));
    }
  }
  const ProgramResult after = lives.live(run);
  ASSERT_EQ(after.exit_code, 0) << after.err;
  EXPECT_TRUE(result_of(run) == lives.undisturbed());
}

TEST(FreeSpace, RunThatWillNotFitIsRefusedBeforeItWritesAnything) {
  Lives lives("stream");
  const fs::path run = lives.fresh();
  // Checkpoints of 30 KB, some hundred millions of them: 15 TB.
  const ProgramResult result =
      lives.live(run, {"--set", "train.steps=1000000000", "--set", "train.keep=1000000000"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr(" MB are free"), HasSubstr("train.keep")));
  EXPECT_FALSE(fs::exists(run));
}

TEST(FaultInjectionLong, EveryCall) {
  for (const bool resumed : {false, true}) {
    for (const Injected& error : kErrors) {
      SCOPED_TRACE(fmt::format("{} run, {}", resumed ? "resumed" : "new", error.name));
      const int faults = fail_every_call(resumed, error);
      EXPECT_GT(faults, 50);  // a run has a good number of calls to fail
      ASSERT_FALSE(HasFailure());
      report_figure(
          fmt::format("failing calls of a {} run, {}", resumed ? "resumed" : "new", error.name),
          fmt::format("each of {} failed once: exit code 1 and a message; resumed, all end equal",
                      faults));
    }
  }
}

}  // namespace
}  // namespace dsf
