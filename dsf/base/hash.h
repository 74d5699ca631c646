#pragma once

// Checksums: XXH3, 64 bits. Finds damage, not malice.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dsf {

/// The checksum of bytes that come in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(const void* data, std::size_t size);
  /// Of everything seen so far; update may go on.
  std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t hash_bytes(std::string_view bytes);

/// Sixteen hexadecimal digits.
std::string to_hex(std::uint64_t value);

}  // namespace dsf
