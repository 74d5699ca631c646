#include "dsf/base/system_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "dsf/base/fault.h"

namespace dsf::system_call {
namespace {

// True, with errno set, if the call of this name is to fail.
bool fails(const char* call) {
  const Fault fault = next_fault(call);
  if (fault.error == 0) return false;
  errno = fault.error;
  return true;
}

}  // namespace

int open(const std::filesystem::path& path, int flags) {
  constexpr mode_t kMode = 0666;  // the umask takes away from it
  // Reading changes nothing on the disk, so it is not counted.
  const bool changes = (flags & O_ACCMODE) != O_RDONLY;
  return changes && fails("open") ? -1 : ::open(path.c_str(), flags | O_CLOEXEC, kMode);
}

ssize_t write(int descriptor, const void* data, std::size_t size) {
  if (crash_due("write.torn")) {
    // Whether or not the half arrives, the process ends here.
    if (::write(descriptor, data, size / 2) < 0) crash();
    crash();
  }
  const Fault fault = next_fault("write");
  if (fault.error != 0) {
    errno = fault.error;
    return -1;
  }
  return ::write(descriptor, data, fault.short_write ? (size + 1) / 2 : size);
}

int sync(int descriptor) { return fails("sync") ? -1 : ::fsync(descriptor); }

int rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return fails("rename") ? -1 : ::rename(from.c_str(), to.c_str());
}

int symlink(const std::filesystem::path& target, const std::filesystem::path& link) {
  return fails("symlink") ? -1 : ::symlink(target.c_str(), link.c_str());
}

int mkdir(const std::filesystem::path& path) {
  constexpr mode_t kMode = 0777;
  return fails("mkdir") ? -1 : ::mkdir(path.c_str(), kMode);
}

}  // namespace dsf::system_call
