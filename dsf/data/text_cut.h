#pragma once

#include <cstddef>
#include <string_view>

namespace dsf {

/// Where a text may be cut that has too few lines to be cut between them.
enum class CutAt { byte, character, word };

/// Bytes of `text` before a cut that leaves about `tail` bytes behind it, but something on either
/// side: between two bytes, two characters, or before a word. A text without a space is cut between
/// two characters. 0 if it cannot be cut.
std::size_t cut_inside_line(std::string_view text, std::size_t tail, CutAt unit);

}  // namespace dsf
