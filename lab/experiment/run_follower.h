#pragma once

// A run that may still be growing, read piece by piece.

#include <filesystem>
#include <string>
#include <vector>

#include "dsf/run/run_record.h"

namespace dsf {

/// The lines a file has got since it was last looked at. A line counts once its end is there.
class FileTail {
 public:
  explicit FileTail(std::filesystem::path path) : path_(std::move(path)) {}

  struct News {
    bool replaced = false;  ///< another file or a shorter one: `lines` are all of its lines
    std::vector<std::string> lines;
  };
  /// Throws IoError if the file cannot be read or is not a regular one.
  News read();

 private:
  std::filesystem::path path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint64_t consumed_ = 0;  // bytes, up to the end of the last whole line
};

/// Keeps a RunRecord up to date, reading only what the log has got in between.
class RunFollower {
 public:
  /// Reads nothing yet.
  explicit RunFollower(const std::filesystem::path& root);

  /// Throws as read_run_record.
  void refresh();

  const RunRecord& record() const { return record_; }
  /// Rises when the log was rewritten, by --resume or --force: points told before no longer count.
  dim_t generation() const { return generation_; }

 private:
  RunRecord record_;
  std::string logged_state_;
  FileTail log_;
  dim_t generation_ = 0;
};

}  // namespace dsf
