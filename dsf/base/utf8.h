#pragma once

// UTF-8 (RFC 3629) and back. Overlong forms, surrogates and values above U+10FFFF are malformed.

#include <cstddef>
#include <string>
#include <string_view>

#include "dsf/base/dim.h"

namespace dsf {

/// Number of code points there can be: the largest is U+10FFFF.
constexpr char32_t kCodePoints = 0x110000;
/// What stands for a malformed byte; no code point has this value.
constexpr char32_t kMalformed = 0xFFFFFFFF;

/// U+FFFD, what a reader sees in place of bytes that are not text.
constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct CodePoint {
  char32_t value = kMalformed;
  std::size_t length = 1;  ///< bytes taken; a malformed byte is one by itself
};

/// The code point that starts at text[at]; at < text.size().
CodePoint decode_utf8(std::string_view text, std::size_t at);

/// True where `tail`, not empty, is the beginning of a code point whose other bytes may still come.
bool is_unfinished_utf8(std::string_view tail);

/// Appends the bytes of `value` < kCodePoints.
void append_utf8(char32_t value, std::string& out);

/// Offset of the first malformed byte, std::string_view::npos where there is none.
std::size_t find_malformed_utf8(std::string_view text);

/// Code points of well-formed text. In other bytes: those that do not look like a continuation.
dim_t count_code_points(std::string_view text);

}  // namespace dsf
