#pragma once

// System calls that fail: IoError with what was tried, the path and the system's reason.

#include <filesystem>
#include <string_view>

namespace dsf {

/// Throws "cannot WHAT PATH: REASON"; `error` is the call's errno.
[[noreturn]] void fail_io(std::string_view what, const std::filesystem::path& path, int error);

/// A descriptor of the file.
int open_or_fail(const std::filesystem::path& path, int flags, std::string_view what);

}  // namespace dsf
