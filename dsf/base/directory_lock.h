#pragma once

// One process at a time in a directory. Everything here throws IoError if the directory cannot
// be opened.

#include <filesystem>

namespace dsf {

/// Holds a directory for this process; released by the destructor or by the end of the process.
class DirectoryLock {
 public:
  /// Throws UsageError if another process holds it, and goes on doing so for a moment: one that
  /// asks directory_is_held() has it for an instant.
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// True while a DirectoryLock of another process, or another one of this, holds the directory.
bool directory_is_held(const std::filesystem::path& directory);

}  // namespace dsf
