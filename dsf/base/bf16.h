#pragma once

#include <bit>
#include <cstdint>

namespace dsf {

/// bfloat16: the upper half of a float. A storage type; arithmetic happens in float.
struct bf16_t {
  std::uint16_t bits = 0;
};

/// Round to nearest, ties to even; NaN stays NaN.
inline bf16_t to_bf16(float x) {
  std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  if ((u & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<std::uint16_t>((u >> 16U) | 0x40U)};
  u += 0x7FFFU + ((u >> 16U) & 1U);
  return {static_cast<std::uint16_t>(u >> 16U)};
}

inline float to_float(bf16_t x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16U);
}

}  // namespace dsf
