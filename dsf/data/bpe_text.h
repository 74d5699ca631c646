#pragma once

// Which text SentencePiece is given, in training and in encoding alike.

#include <cstddef>
#include <string_view>

namespace dsf {

/// U+2581: how SentencePiece writes a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

/// Whether SentencePiece may have the spaces: not if its model has no piece for U+2581, which it
/// would then write in bytes as if the text had that character.
enum class Spaces { plain, apart };

/// Bytes from text[at] on, up to the next that SentencePiece would not give back as it was: a
/// malformed byte, NUL, newline, U+2581, or a space that is to stay apart.
std::size_t plain_length(std::string_view text, std::size_t at, Spaces spaces);

}  // namespace dsf
