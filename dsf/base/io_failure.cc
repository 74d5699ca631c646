#include "dsf/base/io_failure.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "dsf/base/error.h"
#include "dsf/base/system_calls.h"

namespace dsf {

void fail_io(std::string_view what, const std::filesystem::path& path, int error) {
  throw IoError(
      fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(error)));
}

int open_or_fail(const std::filesystem::path& path, int flags, std::string_view what) {
  const int descriptor = system_call::open(path, flags);
  if (descriptor < 0) fail_io(what, path, errno);
  return descriptor;
}

}  // namespace dsf
