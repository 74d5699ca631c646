#include "dsf/base/directory_lock.h"

#include <gtest/gtest.h>

#include <optional>

#include "dsf/base/error.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

TEST(DirectoryLock, HoldsUntilItIsGone) {
  const TempDirectory directory;
  std::optional<DirectoryLock> first(std::in_place, directory.path());
  EXPECT_THROW(DirectoryLock{directory.path()}, UsageError);
  first.reset();
  EXPECT_NO_THROW(DirectoryLock{directory.path()});
}

}  // namespace
}  // namespace dsf
