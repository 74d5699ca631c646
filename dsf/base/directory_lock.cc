#include "dsf/base/directory_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "dsf/base/error.h"
#include "dsf/base/io_failure.h"

namespace dsf {

DirectoryLock::DirectoryLock(const std::filesystem::path& directory)
    : descriptor_(open_or_fail(directory, O_RDONLY | O_DIRECTORY, "open")) {
  constexpr int kTries = 5;
  constexpr std::chrono::milliseconds kPause(20);
  int error = 0;
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(kPause);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    error = errno;
    if (error != EWOULDBLOCK) break;
  }
  ::close(descriptor_);
  if (error != EWOULDBLOCK) fail_io("lock", directory, error);
  throw UsageError(fmt::format("{} is in use by another process; wait for it or choose another",
                               directory.string()));
}

DirectoryLock::~DirectoryLock() { ::close(descriptor_); }

bool directory_is_held(const std::filesystem::path& directory) {
  const int descriptor = open_or_fail(directory, O_RDONLY | O_DIRECTORY, "open");
  // Shared, so that two who ask at the same time do not take each other for a holder.
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return held;
}

}  // namespace dsf
