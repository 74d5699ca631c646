#include "dsf/base/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::HasSubstr;

class Faults : public ::testing::Test {
 protected:
  ~Faults() override { plan_faults("", ""); }
};

TEST_F(Faults, NothingFailsUnlessAskedFor) {
  plan_faults("", "");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next_fault("write").error, 0);
  crash_point("anywhere");
}

TEST_F(Faults, TheKthCallOfANameFailsOnce) {
  plan_faults("sync:2:EIO", "");
  EXPECT_EQ(next_fault("sync").error, 0);
  EXPECT_EQ(next_fault("write").error, 0);
  EXPECT_EQ(next_fault("sync").error, EIO);
  EXPECT_EQ(next_fault("sync").error, 0);
}

TEST_F(Faults, AnyCountsAllCalls) {
  plan_faults("any:3:ENOSPC", "");
  EXPECT_EQ(next_fault("open").error, 0);
  EXPECT_EQ(next_fault("write").error, 0);
  EXPECT_EQ(next_fault("rename").error, ENOSPC);
}

TEST_F(Faults, WrongTextIsRefused) {
  for (const char* text : {"write", "write:0:EIO", "write:x:EIO", ":1:EIO", "write:1:E", "EIO"}) {
    EXPECT_THROW(plan_faults(text, ""), UsageError) << text;
  }
  EXPECT_THROW(plan_faults("", "point:0"), UsageError);
}

TEST_F(Faults, CrashIsDueAtItsPassageOnly) {
  plan_faults("", "here:2");
  EXPECT_FALSE(crash_due("here"));
  EXPECT_FALSE(crash_due("there"));
  EXPECT_TRUE(crash_due("here"));
  EXPECT_FALSE(crash_due("here"));
}

TEST_F(Faults, CrashIsAsByKill9) {
  plan_faults("", "here");
  EXPECT_EXIT(crash_point("here"), ::testing::KilledBySignal(SIGKILL), "");
}

// What is written survives a failing replacement, whichever call fails.
TEST_F(Faults, FailedReplacementLeavesTheOldFile) {
  for (const char* fault :
       {"open:1:ENOSPC", "write:1:EIO", "write:1:short", "sync:1:EIO", "rename:1:ENOSPC"}) {
    const TempDirectory directory;
    directory.write("f", "old");
    plan_faults(fault, "");
    EXPECT_THROW(replace_file(directory / "f", "new contents"), IoError) << fault;
    plan_faults("", "");
    EXPECT_EQ(slurp(directory / "f"), "old") << fault;
  }
}

TEST_F(Faults, ShortWriteNamesFileAndReason) {
  const TempDirectory directory;
  plan_faults("write:1:short", "");
  try {
    FileWriter(directory / "f").write("12345678");
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr((directory / "f").string()));
    EXPECT_THAT(error.what(), HasSubstr("No space left"));
  }
  EXPECT_EQ(slurp(directory / "f"), "1234");
}

TEST(FreeBytes, AreToldForAPathThatExists) {
  const TempDirectory directory;
  EXPECT_GT(free_bytes(directory.path()), 0U);
  EXPECT_THROW(free_bytes(directory / "missing"), IoError);
}

}  // namespace
}  // namespace dsf
