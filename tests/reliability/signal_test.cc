// Signals while a run trains.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/reliability/lives.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

// The last step that the log tells of, 0 if it tells of none. The last line may be half written.
dim_t logged_step(const fs::path& run) {
  dim_t step = 0;
  std::istringstream lines(slurp(run / "log.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object()) step = std::max(step, json.value("step", dim_t{0}));
  }
  return step;
}

// Enough steps that no run ends by itself; no checkpoint but those that a signal asks for.
const std::vector<std::string> kEndless = {"--set", "train.steps=1000000",
                                           "--set", "train.eval_every=1000000",
                                           "--set", "train.checkpoint_every=0"};

void stop_by_sigterm(int times) {
  Lives lives("stream");
  int good = 0;
  for (int i = 0; i < times; ++i) {
    const fs::path run = lives.fresh();
    const int process = lives.start(run, kEndless);
    ASSERT_TRUE(wait_until([&] { return logged_step(run) > 0; })) << lives.last_words();
    ::usleep(static_cast<useconds_t>(lives.rng().below(20 * kMillisecond)));
    ::kill(process, SIGTERM);
    const dim_t arrived_after = logged_step(run);
    const int code = wait_for(process);
    const dim_t saved = Lives::last_checkpoint(run);
    // The step at hand is finished. Between the signal and the look into the log lies at least
    // nothing, so that the step it arrived in is at most the next one.
    EXPECT_EQ(code, 0);
    EXPECT_LE(saved, arrived_after + 1);
    EXPECT_EQ(saved, logged_step(run));
    EXPECT_NE(slurp(run / "log.jsonl").find("interrupted"), std::string::npos);
    good += code == 0 && saved <= arrived_after + 1 && saved == logged_step(run);
    Lives::discard(run);
  }
  report_figure(
      "SIGTERM",
      fmt::format("{} of {} left a loadable checkpoint of the step they came in", good, times));
}

TEST(Signals, SigtermSavesTheStepItArrivesIn) { stop_by_sigterm(3); }
TEST(SignalsLong, SigtermSavesTheStepItArrivesIn) { stop_by_sigterm(100); }

TEST(Signals, Sigusr1SavesAndGoesOn) {
  Lives lives("stream");
  const fs::path run = lives.fresh();
  const int process = lives.start(run, kEndless);
  ASSERT_TRUE(wait_until([&] { return logged_step(run) > 0; })) << lives.last_words();
  ASSERT_FALSE(fs::exists(run / "checkpoints" / "last"));
  ::kill(process, SIGUSR1);
  ASSERT_TRUE(wait_until([&] { return fs::exists(run / "checkpoints" / "last"); }));
  const dim_t saved = Lives::last_checkpoint(run);
  EXPECT_TRUE(wait_until([&] { return logged_step(run) > saved + 5; }));
  ::kill(process, SIGINT);
  EXPECT_EQ(wait_for(process), 0);
  EXPECT_GT(Lives::last_checkpoint(run), saved);
}

// A run whose first step takes so long that two signals come before the first is answered.
int start_slow_run(Lives& lives, const fs::path& run) {
  std::vector<std::string> slow = kEndless;
  slow.insert(slow.end(),
              {"--set", "model.hidden=640", "--set", "data.context=40", "--set", "model.layers=4"});
  const int process = lives.start(run, slow);
  EXPECT_TRUE(wait_until(
      [&] { return fs::exists(run / "log.jsonl") && fs::file_size(run / "log.jsonl") > 0; }));
  return process;
}

TEST(Signals, SecondSigintLeavesAtOnce) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "the thread sanitizer keeps signals until the program calls into the system, and of "
         "two equal ones only one";
#endif
  Lives lives("stream");
  const fs::path run = lives.fresh();
  const int process = start_slow_run(lives, run);
  ::kill(process, SIGINT);
  ::usleep(20 * kMillisecond);
  ::kill(process, SIGINT);
  EXPECT_EQ(wait_for(process), 128 + SIGINT);
  EXPECT_EQ(logged_step(run), 0);
}

TEST(Signals, PairOfSigtermsStillSaves) {
  Lives lives("stream");
  const fs::path run = lives.fresh();
  const int process = start_slow_run(lives, run);
  ::kill(process, SIGTERM);
  ::usleep(20 * kMillisecond);
  ::kill(process, SIGTERM);
  EXPECT_EQ(wait_for(process), 0);
  EXPECT_GT(Lives::last_checkpoint(run), 0);
}

}  // namespace
}  // namespace dsf
