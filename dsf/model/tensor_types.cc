#include "dsf/model/tensor_types.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace dsf {
namespace {

template <typename T>
T load(std::string_view bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction.
float half_to_float(std::uint16_t half) {
  const float sign = (half & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = (half >> 10U) & 0x1FU;
  const auto fraction = static_cast<float>(half & 0x3FFU);
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 0x1F) return fraction == 0.0F ? sign * HUGE_VALF : std::nanf("");
  return sign * std::ldexp(1024.0F + fraction, exponent - 25);
}

float bf16_to_float(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

}  // namespace

bool is_weight_type(std::string_view dtype) {
  return dtype == "F16" || dtype == "BF16" || dtype == "F32" || dtype == "F64";
}

void to_float(std::string_view dtype, std::string_view bytes, std::span<float> out) {
  assert(is_weight_type(dtype));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (dtype == "F32") {
      out[i] = load<float>(bytes, i);
    } else if (dtype == "F64") {
      out[i] = static_cast<float>(load<double>(bytes, i));
    } else {
      const auto half = load<std::uint16_t>(bytes, i);
      out[i] = dtype == "F16" ? half_to_float(half) : bf16_to_float(half);
    }
  }
}

}  // namespace dsf
