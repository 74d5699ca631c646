#pragma once

// The system calls that put something onto a disk, each as the system has it (-1 and errno), and
// each a place where a test can make it fail (dsf/base/fault.h). Everything that must survive goes
// through here. Removing does not: what is removed may as well stay.

#include <sys/types.h>

#include <cstddef>
#include <filesystem>

namespace dsf::system_call {

/// O_CLOEXEC is added; a file made by it has the mode that the umask leaves.
int open(const std::filesystem::path& path, int flags);
ssize_t write(int descriptor, const void* data, std::size_t size);
int sync(int descriptor);
int rename(const std::filesystem::path& from, const std::filesystem::path& to);
int symlink(const std::filesystem::path& target, const std::filesystem::path& link);
int mkdir(const std::filesystem::path& path);

}  // namespace dsf::system_call
