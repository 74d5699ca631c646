#include "dsf/run/run_directory.h"

#include <gtest/gtest.h>

#include "dsf/base/directory_lock.h"
#include "dsf/base/error.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

class RunDirectory : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& contents) const {
    fs::create_directories(paths_.root);
    directory_.write("run/" + name, contents);
  }
  void write_run() const {
    write("config.toml", "");
    write("log.jsonl", "{}\n");
    write("tokenizer", "words");
  }
  void make(bool force) {
    std::optional<DirectoryLock> lock;
    make_run_directory(paths_, force, lock);
  }

  TempDirectory directory_;
  RunPaths paths_{directory_.path() / "run"};
};

TEST_F(RunDirectory, OfAnotherProcessIsNotTouched) {
  write_run();
  const auto before = snapshot(directory_.path());
  const DirectoryLock another(paths_.root);
  EXPECT_THROW(make(true), UsageError);
  EXPECT_EQ(snapshot(directory_.path()), before);
}

// Two processes found the place free; the other one has made its run, and ended, meanwhile.
TEST_F(RunDirectory, ThatHasBecomeARunMeanwhileIsNotTouched) {
  check_free_for_new_run(paths_.root, false);
  write_run();
  const auto before = snapshot(directory_.path());
  EXPECT_THROW(make(false), UsageError);
  EXPECT_EQ(snapshot(directory_.path()), before);
}

TEST_F(RunDirectory, IsHeldFromThenOn) {
  std::optional<DirectoryLock> lock;
  make_run_directory(paths_, false, lock);
  EXPECT_TRUE(directory_is_held(paths_.root));
}

TEST_F(RunDirectory, WhatAnImportLeftThatDiedIsNoRun) {
  write("log.jsonl", "");
  write("metrics.csv.tmp", "step,");
  write("tokenizer", "words");
  fs::create_directory(paths_.checkpoints());
  EXPECT_NO_THROW(check_free_for_new_run(paths_.root, false));
  make(false);
  EXPECT_FALSE(fs::exists(paths_.tokenizer()));
  EXPECT_FALSE(fs::exists(paths_.checkpoints()));
}

TEST_F(RunDirectory, CheckpointsWithoutAnEmptyLogAreSomebodysWork) {
  fs::create_directories(paths_.checkpoints());
  EXPECT_THROW(check_free_for_new_run(paths_.root, true), UsageError);
  write("log.jsonl", "{}\n");
  EXPECT_THROW(check_free_for_new_run(paths_.root, true), UsageError);
}

TEST_F(RunDirectory, CannotBeMadeBelowAFile) {
  directory_.write("file", "");
  EXPECT_THROW(check_free_for_new_run(directory_.path() / "file" / "run", false), UsageError);
  EXPECT_NO_THROW(check_free_for_new_run(directory_.path() / "new" / "run", false));
}

}  // namespace
}  // namespace dsf
