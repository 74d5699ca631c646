#include "dsf/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace dsf {
namespace {

constexpr bool is_continuation(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

// Bytes of the sequence that `lead` opens, 0 if no sequence starts so.
constexpr std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80U) return 1;
  if (lead < 0xC2U) return 0;  // continuation, or the overlong C0 and C1
  if (lead < 0xE0U) return 2;
  if (lead < 0xF0U) return 3;
  return lead < 0xF5U ? 4 : 0;
}

// The smallest value that needs so many bytes.
constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};

}  // namespace

CodePoint decode_utf8(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80U) return {lead, 1};
  const std::size_t length = sequence_length(lead);
  if (length == 0 || length > text.size() - at) return {};
  char32_t value = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if (!is_continuation(byte)) return {};
    value = (value << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < kSmallest[length] || value >= kCodePoints || surrogate) return {};
  return {value, length};
}

bool is_unfinished_utf8(std::string_view tail) {
  const auto continues = [](char c) { return is_continuation(static_cast<unsigned char>(c)); };
  return tail.size() < sequence_length(static_cast<unsigned char>(tail.front())) &&
         std::all_of(tail.begin() + 1, tail.end(), continues);
}

void append_utf8(char32_t value, std::string& out) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0U | (value >> 6U));
    put(0x80U | (value & 0x3FU));
  } else if (value < 0x10000) {
    put(0xE0U | (value >> 12U));
    put(0x80U | ((value >> 6U) & 0x3FU));
    put(0x80U | (value & 0x3FU));
  } else {
    put(0xF0U | (value >> 18U));
    put(0x80U | ((value >> 12U) & 0x3FU));
    put(0x80U | ((value >> 6U) & 0x3FU));
    put(0x80U | (value & 0x3FU));
  }
}

std::size_t find_malformed_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    // Most text is ASCII: eight bytes at a time.
    std::uint64_t word = 0;
    if (text.size() - at >= sizeof(word)) {
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & 0x8080808080808080ULL) == 0) {
        at += sizeof(word);
        continue;
      }
    }
    const CodePoint point = decode_utf8(text, at);
    if (point.value == kMalformed) return at;
    at += point.length;
  }
  return std::string_view::npos;
}

dim_t count_code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return !is_continuation(static_cast<unsigned char>(c)); });
}

}  // namespace dsf
