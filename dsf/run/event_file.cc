#include "dsf/run/event_file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>

namespace dsf {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}();

// A checksum that itself stands in checksummed data is rotated and shifted, by the format's rule.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kShift = 0xA282EAD8;
  return std::rotr(crc32c(bytes), 15) + kShift;
}

template <typename T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// --- protobuf: a field is its number and wire type, then the value ---

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  std::string bytes;
  for (; value >= kMore; value >>= 7) bytes += static_cast<char>(value | kMore);
  return bytes + static_cast<char>(value);
}

std::string key(int field, Wire wire) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}
std::string bytes_field(int field, std::string_view value) {
  return key(field, Wire::bytes) + varint(value.size()) + std::string(value);
}
std::string varint_field(int field, std::uint64_t value) {
  return key(field, Wire::varint) + varint(value);
}
std::string float_field(int field, float value) {
  return key(field, Wire::fixed32) + bytes_of(value);
}
std::string double_field(int field, double value) {
  return key(field, Wire::fixed64) + bytes_of(value);
}

double now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since_epoch).count();
}

// wall_time and step, and `rest`: the field that says what happened.
std::string event(dim_t step, const std::string& rest) {
  return double_field(1, now()) + varint_field(2, static_cast<std::uint64_t>(step)) + rest;
}

std::string record(const std::string& data) {
  const std::string length = bytes_of(static_cast<std::uint64_t>(data.size()));
  return length + bytes_of(masked_crc(length)) + data + bytes_of(masked_crc(data));
}

// Names hold the time in seconds and a number for processes of the same second.
fs::path next_name(const fs::path& directory) {
  fs::create_directories(directory);
  const auto seconds = static_cast<long long>(now());
  for (int number = 0;; ++number) {
    fs::path path = directory / fmt::format("events.out.tfevents.{:010}.{:03}", seconds, number);
    if (!fs::exists(path)) return path;
  }
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~crc;
}

EventFile::EventFile(const fs::path& directory, dim_t step) : file_(next_name(directory)) {
  file_.append(record(event(0, bytes_field(3, "brain.Event:2"))));
  // A session that starts at a step takes back what was said about it and later ones.
  constexpr std::uint64_t kStart = 1;
  file_.append(record(event(step + 1, bytes_field(7, varint_field(1, kStart)))));
}

void EventFile::write(dim_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    const std::string value =
        bytes_field(1, scalar.tag) + float_field(2, static_cast<float>(scalar.value));
    summary += bytes_field(1, value);
  }
  file_.append(record(event(step, bytes_field(5, summary))));
}

}  // namespace dsf
