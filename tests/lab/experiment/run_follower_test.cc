#include "lab/experiment/run_follower.h"

#include <gtest/gtest.h>

#include <fstream>

#include "dsf/base/directory_lock.h"
#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

class RunFollowers : public ::testing::Test {
 protected:
  RunFollowers() { directory_.write("run/config.toml", "[model]\nhidden = 7\n"); }

  void append(const std::string& text) const {
    std::ofstream(directory_ / "run/log.jsonl", std::ios::app) << text;
  }

  TempDirectory directory_;
};

TEST_F(RunFollowers, TakeOnlyWholeLinesAndOnlyNewOnes) {
  append("{\"event\":\"train\",\"step\":1,\"loss\":2.0}\n{\"event\":\"tra");
  RunFollower follower(directory_ / "run");
  follower.refresh();
  EXPECT_EQ(follower.record().config.model.hidden, 7);
  EXPECT_EQ(follower.record().training.size(), 1U);
  append("in\",\"step\":2,\"loss\":1.0}\n");
  follower.refresh();
  follower.refresh();
  ASSERT_EQ(follower.record().training.size(), 2U);
  EXPECT_EQ(follower.record().training[1].loss, 1.0);
  EXPECT_EQ(follower.generation(), 1);
}

TEST_F(RunFollowers, BeginAnewWhereTheLogWasReplaced) {
  append("{\"event\":\"train\",\"step\":1,\"loss\":2.0}\n");
  RunFollower follower(directory_ / "run");
  follower.refresh();
  // As long as before: only the file's identity tells.
  replace_file(directory_ / "run/log.jsonl", "{\"event\":\"train\",\"step\":5,\"loss\":3.0}\n");
  directory_.write("run/config.toml", "[model]\nhidden = 9\n");
  follower.refresh();
  ASSERT_EQ(follower.record().training.size(), 1U);
  EXPECT_EQ(follower.record().training[0].step, 5.0);
  EXPECT_EQ(follower.record().config.model.hidden, 9);
  EXPECT_EQ(follower.generation(), 2);
}

TEST_F(RunFollowers, TellARunThatGoesOnFromOneThatWasKilled) {
  append("{\"event\":\"train\",\"step\":1}\n");
  RunFollower follower(directory_ / "run");
  {
    const DirectoryLock lock(directory_ / "run");
    follower.refresh();
    EXPECT_EQ(follower.record().state, "running");
  }
  follower.refresh();
  EXPECT_EQ(follower.record().state, "partial");
  append("{\"event\":\"done\",\"steps\":1}\n");
  follower.refresh();
  EXPECT_EQ(follower.record().state, "done");
}

TEST_F(RunFollowers, SayWhereTheRunIsGone) {
  RunFollower follower(directory_ / "run");
  EXPECT_THROW(follower.refresh(), UsageError);
}

}  // namespace
}  // namespace dsf
