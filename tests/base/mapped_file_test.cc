#include "dsf/base/mapped_file.h"

#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

TEST(MappedFile, HoldsWhatTheFileHolds) {
  const TempDirectory dir;
  const std::string text(10'000, 'x');
  EXPECT_EQ(MappedFile(dir.write("file", text)).contents(), text);
  EXPECT_EQ(MappedFile(dir.write("empty", "")).contents(), "");
}

TEST(MappedFile, StaysWhenTheFileIsReplacedOrRemoved) {
  const TempDirectory dir;
  const std::filesystem::path path = dir.write("file", "old");
  const MappedFile mapped(path);
  std::filesystem::rename(dir.write("other", "new"), path);
  EXPECT_EQ(mapped.contents(), "old");
  std::filesystem::remove(path);
  EXPECT_EQ(mapped.contents(), "old");
}

TEST(MappedFile, WhatIsNoFileIsAnError) {
  const TempDirectory dir;
  EXPECT_THROW(MappedFile(dir / "missing"), IoError);
  EXPECT_THROW(MappedFile(dir.path()), IoError);
}

}  // namespace
}  // namespace dsf
