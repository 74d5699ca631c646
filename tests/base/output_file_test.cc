#include "dsf/base/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "dsf/base/error.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const fs::path& file, bool force) {
  return message_of<UsageError>([&] { check_output_file(file, force); });
}

TEST(OutputFile, NewNameInADirectoryIsFree) {
  const TempDirectory directory;
  EXPECT_NO_THROW(check_output_file(directory / "new", false));
  EXPECT_NO_THROW(check_output_file("a name without a directory that nobody has", false));
  EXPECT_TRUE(snapshot(directory.path()).empty()) << "it was only asked for";
}

TEST(OutputFile, ThatExistsIsReplacedByForceOnly) {
  const TempDirectory directory;
  const fs::path file = directory.write("table.csv", "of yesterday");
  EXPECT_THAT(refusal(file, false),
              AllOf(HasSubstr(file.string()), HasSubstr("--force replaces it")));
  EXPECT_NO_THROW(check_output_file(file, true));
  EXPECT_EQ(slurp(file), "of yesterday");
}

TEST(OutputFile, IsNeverADirectoryOrAPipe) {
  const TempDirectory directory;
  const fs::path pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const bool force : {false, true}) {
    EXPECT_THAT(refusal(directory.path(), force), HasSubstr(directory.path().string()));
    EXPECT_THAT(refusal(pipe, force), HasSubstr(pipe.string()));
  }
}

TEST(OutputFile, NeedsTheDirectoryAbove) {
  const TempDirectory directory;
  const fs::path above = directory / "nowhere";
  for (const bool force : {false, true}) {
    EXPECT_THAT(refusal(above / "file", force), HasSubstr(above.string() + " "));
  }
  EXPECT_THROW(check_output_file(directory.write("file", "") / "below", true), UsageError);
}

}  // namespace
}  // namespace dsf
