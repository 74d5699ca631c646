#pragma once

#include <span>
#include <string_view>

namespace dsf {

/// True for the types of safetensors that weights come in: F16, BF16, F32 and F64.
bool is_weight_type(std::string_view dtype);

/// The numbers of a tensor of such a type as F32; `bytes` holds out.size() of them. F64 is rounded.
void to_float(std::string_view dtype, std::string_view bytes, std::span<float> out);

}  // namespace dsf
