#include "dsf/run/run_record.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "dsf/base/directory_lock.h"
#include "dsf/base/error.h"
#include "tests/support/run_log.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

class RunRecords : public WrittenRuns {
 protected:
  std::string state_after(const std::string& last_line) const {
    return read_run_record(make_run("state", kRunLog + last_line)).state;
  }
};

TEST_F(RunRecords, TellsWhatTheLogSays) {
  const RunRecord run = read_run_record(make_run("run", kRunLog));
  EXPECT_EQ(run.step, 4);
  EXPECT_EQ(run.total_steps, 9);
  EXPECT_EQ(run.parameters, 123);
  EXPECT_EQ(run.vocab, 7);
  EXPECT_EQ(run.seconds, 3.5);
  EXPECT_EQ(run.best_perplexity, 7.5);
  EXPECT_EQ(run.training.size(), 2U);
  EXPECT_EQ(run.evaluations.size(), 2U);
}

TEST_F(RunRecords, KnowsHowARunStands) {
  EXPECT_EQ(state_after(R"({"event":"done","steps":9})"), "done");
  EXPECT_EQ(state_after(R"({"event":"interrupted","step":4})"), "interrupted");
  EXPECT_EQ(state_after(R"({"event":"diverged","step":4})"), "diverged");
  EXPECT_EQ(state_after(R"({"event":"tra)"), "partial");  // killed while it wrote
  EXPECT_EQ(state_after("{\"event\":\"interrupted\"}\n{\"event\":\"resume\",\"step\":4}"),
            "partial");
  const fs::path run = make_run("run", kRunLog);
  const DirectoryLock lock(run);
  EXPECT_EQ(read_run_record(run).state, "running");
}

TEST_F(RunRecords, AreFoundAtAnyDepthButNotInsideEachOther) {
  const fs::path a = make_run("b/a", kRunLog);
  make_run("b/a/inner", kRunLog);
  const fs::path c = make_run("c", "");
  directory_.write("d/config.toml", "");
  EXPECT_EQ(find_runs(directory_.path()), (std::vector<fs::path>{a, c}));
  EXPECT_EQ(find_runs(a), std::vector<fs::path>{a});
  EXPECT_THROW(find_runs(directory_ / "none"), UsageError);
  EXPECT_EQ(read_run_record(c).state, "partial");
}

TEST_F(RunRecords, AreFoundWhileOtherDirectoriesVanish) {
  const fs::path first = make_run("a", kRunLog);
  const fs::path last = make_run("z/z", kRunLog);
  std::atomic<bool> enough = false;
  std::thread others([&] {
    while (!enough) {
      for (const char* name : {"m/m/m", "n/n/n"}) fs::create_directories(directory_ / name);
      for (const char* name : {"m", "n"}) fs::remove_all(directory_ / name);
    }
  });
  const std::vector<fs::path> both = {first, last};
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(find_runs(directory_.path()), both);
  enough = true;
  others.join();
}

TEST_F(RunRecords, OneDamagedRunDoesNotHideTheOthers) {
  const fs::path whole = make_run("a", kRunLog);
  directory_.write("b/config.toml", "[model]\nhidden = \"wide\"\n");
  directory_.write("b/log.jsonl", kRunLog);
  const std::vector<RunRecord> runs = read_runs(directory_.path());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].root, whole);
  EXPECT_EQ(to_json(runs).substr(0, 10), R"([{"run":"/)");
}

TEST_F(RunRecords, LogAsJsonHasItsWholeLines) {
  const fs::path run = make_run("run", "{\"event\":\"start\",\"step\":0}\n{\"event\":\"tra");
  EXPECT_EQ(log_json(run), R"([{"event":"start","step":0}])");
  EXPECT_THROW(log_json(directory_ / "none"), UsageError);
}

}  // namespace
}  // namespace dsf
