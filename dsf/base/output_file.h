#pragma once

// Asked before work begins whose result goes into a file.

#include <filesystem>

namespace dsf {

/// Throws UsageError if something is in the file's place that may not be replaced: a directory or
/// a device, and without `force` also a file.
void check_replaceable(const std::filesystem::path& file, bool force);

/// The same, and if the directory above is not there.
void check_output_file(const std::filesystem::path& file, bool force);

}  // namespace dsf
