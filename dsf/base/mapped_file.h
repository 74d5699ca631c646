#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace dsf {

/// A file as memory: the system reads what is looked at, and lets go of it when memory is short.
/// For files that are replaced by renaming and never written again: what is cut off behind its back
/// cannot be read any more.
class MappedFile {
 public:
  /// Throws IoError.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Begins at a page, so it is aligned for every type.
  std::string_view contents() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dsf
