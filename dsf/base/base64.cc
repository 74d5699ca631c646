#include "dsf/base/base64.h"

#include <cstddef>
#include <cstdint>

namespace dsf {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kBytes = 3;  // of a group
constexpr std::size_t kChars = 4;  // that stand for them
constexpr std::uint32_t kDigitBits = 6;
constexpr std::uint32_t kByteBits = 8;
constexpr std::uint32_t kDigitMask = 63;
constexpr std::uint32_t kByteMask = 255;

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + kBytes - 1) / kBytes * kChars);
  for (std::size_t at = 0; at < bytes.size(); at += kBytes) {
    const std::string_view group = bytes.substr(at, kBytes);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kBytes; ++i) {
      const auto byte = i < group.size() ? static_cast<unsigned char>(group[i]) : 0U;
      bits = bits << kByteBits | byte;
    }
    for (std::size_t i = 0; i < kChars; ++i) {
      const auto shift = kDigitBits * static_cast<std::uint32_t>(kChars - 1 - i);
      text += i <= group.size() ? kDigits[bits >> shift & kDigitMask] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / kChars * kBytes);
  for (std::size_t at = 0; at < text.size(); at += kChars) {
    std::uint32_t bits = 0;
    std::size_t digits = 0;
    for (const char c : text.substr(at, kChars)) {
      const std::size_t digit = kDigits.find(c);
      if (digit == std::string_view::npos) break;
      bits = bits << kDigitBits | static_cast<std::uint32_t>(digit);
      ++digits;
    }
    if (digits < 2) return std::nullopt;
    bits <<= kDigitBits * static_cast<std::uint32_t>(kChars - digits);
    for (std::size_t i = 0; i + 1 < digits; ++i) {
      const auto shift = kByteBits * static_cast<std::uint32_t>(kBytes - 1 - i);
      bytes += static_cast<char>(bits >> shift & kByteMask);
    }
  }
  // Padding, stray characters and unused bits are all settled by what the bytes would be written
  // as.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace dsf
