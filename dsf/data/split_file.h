#pragma once

// The tokens of a split on disk: magic, four counts, tokens, line starts, checksum of all before
// it.

#include <filesystem>
#include <optional>
#include <string_view>

#include "dsf/data/dataset.h"

namespace dsf {

/// Throws IoError.
void write_split_file(const Split& split, const std::filesystem::path& file);

/// Nothing where `contents` is not what write_split_file writes, or has a token outside [0, vocab).
/// Takes no more memory than `contents` does.
std::optional<Split> parse_split(std::string_view contents, dim_t vocab);

}  // namespace dsf
