// dsf runs and dsf watch among files that cannot be read, vanish, or are not what their names say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "tests/support/watch_fixture.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Beside "one", of which everything can be read, stands what cannot.
class UnreadableRuns : public WatchTest {
 protected:
  UnreadableRuns() {
    const ProgramResult tried = run_program(joined(bound_by_permissions(), {"true"}));
    if (tried.exit_code != 0) reason_ = "root's rights cannot be taken away here: " + tried.err;
    for (const char* name : {"closed", "closed_config", "closed_log", "closed_models"}) {
      fs::copy(path("runs/one"), path("runs") + "/" + name,
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }
    for (const char* name : {"runs/closed", "runs/closed_config/config.toml",
                             "runs/closed_log/log.jsonl", "runs/closed_models/checkpoints"}) {
      fs::permissions(path(name), fs::perms::none);
    }
    directory_.write("runs/listed_only/inner/config.toml", "");
    fs::permissions(path("runs/listed_only"), fs::perms::owner_read);
    directory_.write("runs/config_is_a_directory/config.toml/file", "");
    directory_.write("runs/config_is_a_directory/log.jsonl", "");
    directory_.write("runs/log_is_a_pipe/config.toml", "");
    ::mkfifo(path("runs/log_is_a_pipe/log.jsonl").c_str(), 0600);
    fs::create_symlink("none", path("runs/dangling"));
    fs::create_symlink("loop", path("runs/loop"));
    fs::create_directory_symlink("..", path("runs/link_upwards"));
  }

  ~UnreadableRuns() override {
    for (const char* name : {"runs/closed", "runs/closed_models/checkpoints", "runs/listed_only"}) {
      fs::permissions(path(name), fs::perms::owner_all);
    }
  }

  /// `dsf runs DIRECTORY --json` by someone for whom permissions count.
  ProgramResult runs_of(const std::string& directory) const {
    return run_program(
        joined(bound_by_permissions(), {dsf_program(), "runs", directory, "--json"}));
  }

  std::string reason_;  // to skip; "": none
};

TEST_F(UnreadableRuns, RunsNamesThemAndListsTheOthers) {
  if (!reason_.empty()) GTEST_SKIP() << reason_;
  const ProgramResult result = runs_of(path("runs"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> names;
  for (const json& run : json::parse(result.out)) {
    names.push_back(fs::path(run["run"].get<std::string>()).filename());
  }
  EXPECT_THAT(names, ElementsAre("closed_models", "one"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("runs/closed_config is left out: cannot open"),
                                HasSubstr("runs/closed_log is left out: cannot open")));
}

TEST_F(UnreadableRuns, RunsSaysThatItMayNotLookIntoTheDirectoryItself) {
  if (!reason_.empty()) GTEST_SKIP() << reason_;
  const ProgramResult result = runs_of(path("runs/closed"));
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("cannot read the directory"), HasSubstr("Permission denied")));
}

TEST_F(UnreadableRuns, WatchNamesThemOnceAndShowsTheOthers) {
  if (!reason_.empty()) GTEST_SKIP() << reason_;
  start(bound_by_permissions());
  EXPECT_THAT(listed(), ElementsAre("closed_models", "one"));
  EXPECT_THAT(listed(), ElementsAre("closed_models", "one"));
  EXPECT_EQ(get_json("/api/runs")["runs"][0]["can_generate"], false);
  EXPECT_EQ(get_json("/api/points?run=one")["training"]["step"].size(), 6U);
  EXPECT_EQ(stop(), 0);
  const std::string said = slurp(path("log.err"));
  const std::string complaint = "runs/closed_log is left out";
  EXPECT_THAT(said, HasSubstr(complaint));
  EXPECT_EQ(said.find(complaint), said.rfind(complaint)) << said;
}

TEST_F(UnreadableRuns, PlotDoesNotWaitForAPipe) {
  make_run("piped", {"--steps", "2"});
  fs::remove(path("runs/piped/log.jsonl"));
  ASSERT_EQ(::mkfifo(path("runs/piped/log.jsonl").c_str(), 0600), 0);
  const ProgramResult result = run_program(
      {"timeout", "20", dsf_program(), "plot", path("runs/piped"), "--out", path("figures")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("log.jsonl is not a file that can be read"));
}

class ChangingRuns : public WatchTest {};

// The server searches the directory every two seconds only: in between it reads runs that it knows.
TEST_F(ChangingRuns, WatchOutlivesWhatReplacesARunThatItKnows) {
  make_run("two", {"--steps", "2"});
  make_run("three", {"--steps", "2"});
  start();
  EXPECT_THAT(listed(), ElementsAre("one", "three", "two"));
  fs::remove_all(path("runs/two"));
  fs::create_symlink("two", path("runs/two"));  // leads to itself: the system refuses to follow it
  fs::remove(path("runs/three/log.jsonl"));
  ASSERT_EQ(::mkfifo(path("runs/three/log.jsonl").c_str(), 0600), 0);
  EXPECT_THAT(listed(), ElementsAre("one"));
  EXPECT_EQ(get_json("/api/points?run=one")["training"]["step"].size(), 6U);
  EXPECT_EQ(stop(), 0);
}

TEST_F(ChangingRuns, WatchAnswersWhileDirectoriesComeAndGo) {
  start();
  std::atomic<bool> enough = false;
  std::thread others([&] {
    for (int i = 0; !enough; ++i) {
      const std::string name = "runs/passing" + std::to_string(i % 7);
      directory_.write(name + "/deep/config.toml", "");
      directory_.write(name + "/deep/log.jsonl", "");
      fs::rename(path(name + "/deep"), path(name + "/moved"));
      fs::remove_all(path(name));
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(4500);
  while (std::chrono::steady_clock::now() < end) EXPECT_THAT(listed(), Contains("one"));
  enough = true;
  others.join();
  EXPECT_EQ(stop(), 0);
  EXPECT_THAT(slurp(path("log.err")), Not(HasSubstr("filesystem error")));
}

}  // namespace
}  // namespace dsf
