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

// One life of `run` in which the k-th call fails. False where it has fewer calls than k.
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

// Every `stride`-th call of a new run and of a resumed one.
void fail_every_call(int stride) {
  Lives lives("stream");
  const fs::path resumable = lives.fresh();
  {
    const ScopedVariable crash("DSF_CRASH_AT", "checkpoint.end:9");
    ASSERT_EQ(lives.live(resumable).exit_code, kKilled);
  }
  int faults = 0;
  for (const bool resumed : {false, true}) {
    for (const Injected& error : kErrors) {
      int k = 1;
      for (;; k += stride) {
        SCOPED_TRACE(
            fmt::format("{} run, call {}, {}", resumed ? "resumed" : "new", k, error.name));
        const fs::path run = resumed ? lives.copy_of(resumable) : lives.fresh();
        if (!fail_once(lives, run, error, k)) break;
        ++faults;
        const ProgramResult after = lives.live(run);
        ASSERT_EQ(after.exit_code, 0) << after.err;
        ASSERT_TRUE(result_of(run) == lives.undisturbed());
        Lives::discard(run);
      }
      EXPECT_GT(k, 20 * stride);  // a run has a good number of calls to fail
    }
  }
  report_figure(fmt::format(
      "fault injection: {} failing calls (every {}th of a new and a resumed run; ENOSPC, EIO, "
      "short "
      "write): all with exit code 1 and a message, all resumed to the undisturbed run's bytes",
      faults, stride));
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
  // Checkpoints of 30 KB, a thousand million of them: 30 TB.
  const ProgramResult result = lives.live(run, {"--set", "train.keep=1000000000"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr(" MB are free"), HasSubstr("train.keep")));
  EXPECT_FALSE(fs::exists(run));
}

TEST(FaultInjectionLong, EveryCall) { fail_every_call(1); }

}  // namespace
}  // namespace dsf
