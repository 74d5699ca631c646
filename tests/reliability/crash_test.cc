// Runs that die, go on in a new process, and must end as if they had never died.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "dsf/base/error.h"
#include "tests/reliability/lives.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

struct Tally {
  int kills = 0;
  int runs = 0;
  int stuck = 0;      // could not be resumed
  int different = 0;  // from the undisturbed run
  int lost = 0;       // checkpoints that were acknowledged and are not there or not whole any more

  void report(const std::string& what) const {
    report_figure(what, fmt::format("{} kills in {} runs: {} cannot resume, {} differ, {} "
                                    "acknowledged checkpoints lost",
                                    kills, runs, stuck, different, lost));
  }
  void expect_none_lost() const {
    EXPECT_EQ(stuck, 0);
    EXPECT_EQ(different, 0);
    EXPECT_EQ(lost, 0);
  }
};

// After a death: what `last` named before must still be there, or something newer.
void check_acknowledged(const fs::path& run, dim_t& acknowledged, Tally& tally) {
  try {
    const dim_t step = Lives::last_checkpoint(run);
    if (step < acknowledged) ++tally.lost;
    acknowledged = std::max(acknowledged, step);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
    ++tally.lost;
  }
}

// Lets a run that has died go on to its end, and compares.
void finish_and_compare(Lives& lives, const fs::path& run, Tally& tally) {
  const ProgramResult result = lives.live(run);
  ++tally.runs;
  if (result.exit_code != 0) {
    ++tally.stuck;
    ADD_FAILURE() << "exit code " << result.exit_code << ": " << result.err;
  } else if (result_of(run) != lives.undisturbed()) {
    ++tally.different;
  }
  Lives::discard(run);
}

void kill_at_random_times(const std::string& batching, int kills) {
  Lives lives(batching);
  const double longest = 1.1 * lives.seconds();
  constexpr int kLives = 4;  // that a run has at most before it may go on to its end
  Tally tally;
  while (tally.kills < kills) {
    const fs::path run = lives.fresh();
    dim_t acknowledged = -1;
    for (int life = 0; life < kLives; ++life) {
      const int process = lives.start(run);
      ::usleep(static_cast<useconds_t>(1e6 * longest * lives.rng().uniform()));
      ::kill(process, SIGKILL);
      const int code = wait_for(process);
      if (code != kKilled) {
        EXPECT_EQ(code, 0) << lives.last_words();
        break;
      }
      ++tally.kills;
      check_acknowledged(run, acknowledged, tally);
    }
    finish_and_compare(lives, run, tally);
  }
  tally.report("kill -9 at random times, " + batching);
  tally.expect_none_lost();
}

TEST(Crash, KilledAtRandomTimesEndsAsIfItHadNot) { kill_at_random_times("stream", 8); }
TEST(CrashLong, KilledAtRandomTimesStream) { kill_at_random_times("stream", 250); }
TEST(CrashLong, KilledAtRandomTimesSentences) { kill_at_random_times("sentences", 250); }

// The named points that one life passes, and how often.
std::map<std::string, int> points_passed(Lives& lives, const fs::path& run) {
  const ScopedVariable list("DSF_CRASH_AT", "list");
  const ProgramResult result = lives.live(run);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, int> points;
  std::istringstream lines(result.err);
  const std::string mark = "crash point ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(mark)) ++points[line.substr(mark.size())];
  }
  return points;
}

void kill_at_named_points(int kills) {
  Lives lives("stream");
  const std::map<std::string, int> points = points_passed(lives, lives.fresh());
  EXPECT_GE(points.size(), 16U);
  for (const auto& [point, passages] : points) {
    Tally tally;
    while (tally.kills < kills) {
      const fs::path run = lives.fresh();
      const dim_t passage = 1 + lives.rng().below(passages);
      const ScopedVariable crash("DSF_CRASH_AT", fmt::format("{}:{}", point, passage));
      const int code = lives.live(run).exit_code;
      ASSERT_EQ(code, kKilled) << point << ":" << passage;
      ++tally.kills;
      dim_t acknowledged = -1;
      check_acknowledged(run, acknowledged, tally);
      // Again in the second life, which may pass the point earlier, later or not at all.
      if (lives.live(run).exit_code == kKilled) ++tally.kills;
      check_acknowledged(run, acknowledged, tally);
      const ScopedVariable no_crash("DSF_CRASH_AT", "");
      finish_and_compare(lives, run, tally);
    }
    tally.report("kill -9 at " + point);
    tally.expect_none_lost();
  }
}

TEST(Crash, KilledAtEachNamedPointEndsAsIfItHadNot) { kill_at_named_points(1); }
TEST(CrashLong, KilledAtEachNamedPoint) { kill_at_named_points(50); }

// Lines of the log by its size, near enough: one of a step has about 400 bytes.
dim_t logged_lines(const fs::path& run) {
  constexpr std::uintmax_t kLine = 400;
  const fs::path log = run / "log.jsonl";
  return fs::exists(log) ? static_cast<dim_t>(fs::file_size(log) / kLine) : 0;
}

TEST(CrashLong, LogHasNoGapAndNoDoubleStepAfterAHundredKillsOfOneRun) {
  // A life ends when it has logged, on average, half of a hundredth of the run: on a machine of any
  // speed a hundred lives do not reach the end.
  constexpr int kKills = 100;
  constexpr dim_t kManySteps = 2 * kKills * Lives::kSteps;
  constexpr dim_t kLongestLife = kManySteps / kKills;
  Lives lives("sentences");
  const std::vector<std::string> steps = {"--set", fmt::format("train.steps={}", kManySteps)};
  const fs::path run = lives.fresh();
  int kills = 0;
  for (int code = kKilled; code == kKilled;) {
    const dim_t before = logged_lines(run);
    const int process = lives.start(run, steps);
    if (kills < kKills) {
      const dim_t last = before + 1 + lives.rng().below(kLongestLife);
      ASSERT_TRUE(wait_until([&] { return logged_lines(run) >= last; })) << lives.last_words();
      ::kill(process, SIGKILL);
    }
    code = wait_for(process);
    if (code == kKilled) ++kills;
    ASSERT_TRUE(code == kKilled || code == 0) << lives.last_words();
  }
  const std::vector<dim_t> logged = result_of(run).steps;
  dim_t wrong = 0;
  for (std::size_t i = 0; i < logged.size(); ++i) wrong += logged[i] != static_cast<dim_t>(i) + 1;
  report_figure(
      fmt::format("log of one run killed {} times", kills),
      fmt::format("{} lines for {} steps, {} out of place", logged.size(), kManySteps, wrong));
  EXPECT_EQ(static_cast<dim_t>(logged.size()), kManySteps);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(kills, kKills);
}

// --- would the comparison notice? ----------------------------------------------------------------

// A run stopped by a crash behind its checkpoint of step 8, and then altered: what is dropped must
// make a difference to the run's end.
class DroppedState : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr dim_t kAt = 8;

  fs::path stopped() {
    const ScopedVariable crash("DSF_CRASH_AT", fmt::format("checkpoint.end:{}", kAt / 2));
    fs::path run = lives_.fresh();
    EXPECT_EQ(lives_.live(run).exit_code, kKilled);
    EXPECT_EQ(Lives::last_checkpoint(run), kAt);
    return run;
  }

  // Loads the last checkpoint, changes its state and saves it again, with all checksums right.
  template <typename Change>
  static void rewrite(const fs::path& run, Change&& change) {
    StoredModel stored = open_stored_model(run, "last", 1);
    TrainingState state;
    const RunIdentity identity =
        load_checkpoint(run / "checkpoints" / "last", state, *stored.model);
    change(state);
    for (const fs::path& old : list_checkpoints(run / "checkpoints")) fs::remove_all(old);
    save_checkpoint(run / "checkpoints", identity, state, *stored.model, {"last"}, 2);
  }

  static void drop(const std::string& what, const fs::path& run) {
    if (what == "rng") {  // everything drawn at random follows from the seed
      std::string config = slurp(run / "config.toml");
      const std::size_t at = config.find("\nseed = 1 ");
      ASSERT_NE(at, std::string::npos);
      config[at + 8] = '2';
      std::ofstream(run / "config.toml") << config;
      return;
    }
    rewrite(run, [&what](TrainingState& state) {
      if (what == "sampler position") state.position = {};
      if (what == "moments") {
        std::ranges::fill(state.adam.m.span(), 0.0F);
        std::ranges::fill(state.adam.v.span(), 0.0F);
      }
      if (what == "carried state") {
        for (Matrix& carried : state.carried) carried.zero();
      }
      if (what == "schedule step") state.step = 0;
      if (what == "optimiser step") state.adam.updates = 0;
    });
  }

  Lives lives_{GetParam() == "rng" ? "sentences" : "stream"};
};

TEST_P(DroppedState, IsNoticedByTheComparison) {
  const std::string what = GetParam();
  const fs::path run = stopped();
  if (what != "nothing") drop(what, run);
  const ProgramResult result = lives_.live(run);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const RunResult after = result_of(run);
  const std::string weights = "step-00000024/weights.safetensors";
  const bool same = after.checkpoints.at(weights) == lives_.undisturbed().checkpoints.at(weights);
  EXPECT_EQ(same, what == "nothing");
  EXPECT_EQ(after == lives_.undisturbed(), what == "nothing");
  report_figure("control: " + what + " dropped",
                same ? "equal to the undisturbed run" : "different, as it must be");
}

INSTANTIATE_TEST_SUITE_P(Controls, DroppedState,
                         ::testing::Values("nothing", "rng", "sampler position", "moments",
                                           "carried state", "schedule step", "optimiser step"),
                         [](const auto& control) {
                           std::string name = control.param;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace dsf
