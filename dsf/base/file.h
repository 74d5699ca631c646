#pragma once

// Files that must survive a crash. "Durable": on the disk, not only in the system's cache.
// Everything here throws IoError naming the path and the system's reason.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "dsf/base/hash.h"

namespace dsf {

std::string read_file(const std::filesystem::path& path);

/// Writes one new file, counting and hashing what goes through.
class FileWriter {
 public:
  /// Creates `path`, or empties it.
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(const void* data, std::size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Makes the file durable and closes it. Without it the file is closed, but its fate is open.
  void finish();

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t hash() const { return hasher_.digest(); }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  Hasher hasher_;
};

/// Adds to the end of a file, each piece with one system call, so that no half line is left behind
/// by a program that is killed.
class AppendFile {
 public:
  explicit AppendFile(const std::filesystem::path& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view text);
  /// Makes durable what was added so far.
  void sync();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Makes one directory; one that is there already is good too.
void make_directory(const std::filesystem::path& path);

/// Makes the entries of a directory durable: the files created, renamed and removed in it.
void sync_directory(const std::filesystem::path& directory);

/// Renames, replacing a file of the new name.
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// The file has either its old or its new contents at any moment; durable on return.
void replace_file(const std::filesystem::path& path, std::string_view contents);

/// The same for contents that are written piece by piece; if `write` throws, the file is as it
/// was.
void write_beside(const std::filesystem::path& path, const std::function<void(FileWriter&)>& write);

/// Points `link` to `target` (relative to the link's directory); it never points to nothing in
/// between.
void replace_symlink(const std::filesystem::path& target, const std::filesystem::path& link);

/// What this process may still write to the disk that `path`, which must exist, lies on.
std::uint64_t free_bytes(const std::filesystem::path& path);

}  // namespace dsf
