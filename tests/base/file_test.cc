#include "dsf/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "dsf/base/error.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(File, WhatWasWrittenIsReadWithItsSizeAndHash) {
  const TempDirectory directory;
  const std::string text("two\0parts\n", 10);
  FileWriter writer(directory / "f");
  writer.write(text.substr(0, 4));
  writer.write(text.substr(4));
  writer.finish();
  EXPECT_EQ(read_file(directory / "f"), text);
  EXPECT_EQ(writer.bytes(), text.size());
  EXPECT_EQ(writer.hash(), hash_bytes(text));
}

TEST(File, MissingFileIsNamedWithTheSystemsReason) {
  try {
    read_file("/nowhere/at/all");
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/at/all"));
    EXPECT_THAT(error.what(), HasSubstr("No such file"));
  }
}

TEST(File, ReplacedFileLeavesNothingBeside) {
  const TempDirectory directory;
  directory.write("f", "old");
  replace_file(directory / "f", "new");
  EXPECT_EQ(snapshot(directory.path()), (std::map<std::string, std::string>{{"f", "new"}}));
}

TEST(File, PipeIsNotReplacedByAFile) {
  const TempDirectory directory;
  const fs::path pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(message_of<IoError>([&] { replace_file(pipe, "new"); }), HasSubstr(pipe.string()));
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(snapshot(directory.path()).size(), 1U) << "nothing beside";
}

TEST(File, SymlinkIsReplacedEvenIfOneWasLeftUnfinished) {
  const TempDirectory directory;
  fs::create_directory(directory / "a");
  fs::create_directory(directory / "b");
  replace_symlink("a", directory / "link");
  fs::create_symlink("a", directory / "link.tmp");
  replace_symlink("b", directory / "link");
  EXPECT_EQ(fs::read_symlink(directory / "link"), "b");
  EXPECT_FALSE(fs::exists(fs::symlink_status(directory / "link.tmp")));
}

TEST(File, AppendAddsToTheEnd) {
  const TempDirectory directory;
  directory.write("log", "one\n");
  AppendFile(directory / "log").append("two\n");
  EXPECT_EQ(slurp(directory / "log"), "one\ntwo\n");
}

}  // namespace
}  // namespace dsf
