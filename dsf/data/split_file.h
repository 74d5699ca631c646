#pragma once

// The tokens of a split on disk: magic, four counts, line starts, tokens, checksum of all before
// it. All numbers lie where memory wants them, so a mapped file can be used as it is.

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "dsf/data/dataset.h"

namespace dsf {

/// Throws IoError.
void write_split_file(const Split& split, const std::filesystem::path& file);

/// A split whose numbers stay in `contents`, memory of `owner` aligned as for dim_t. Nothing if
/// that is not what write_split_file writes, or has a token outside [0, vocab).
std::optional<Split> parse_split(std::string_view contents, dim_t vocab,
                                 std::shared_ptr<const void> owner);

}  // namespace dsf
