#include "dsf/base/output_file.h"

#include <fmt/format.h>

#include "dsf/base/error.h"

namespace dsf {

namespace fs = std::filesystem;

void check_replaceable(const fs::path& file, bool force) {
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  if (fs::is_directory(status)) throw UsageError(fmt::format("{} is a directory", file.string()));
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw UsageError(fmt::format("{} is not a regular file and is not replaced", file.string()));
  }
  if (fs::exists(status) && !force) {
    throw UsageError(fmt::format("{} exists; --force replaces it", file.string()));
  }
}

void check_output_file(const fs::path& file, bool force) {
  check_replaceable(file, force);
  std::error_code ignored;
  const fs::path above = file.parent_path();
  if (!above.empty() && !fs::is_directory(above, ignored)) {
    throw UsageError(
        fmt::format("{} cannot be written: {} is not a directory", file.string(), above.string()));
  }
}

}  // namespace dsf
