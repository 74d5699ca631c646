#pragma once

#include "dsf/base/bf16.h"
#include "dsf/base/dim.h"

namespace dsf {

/// y_j = to_bf16(x_j) for j < n, the same bits, on the calling thread.
void to_bf16_row(const float* x, dim_t n, bf16_t* y);

}  // namespace dsf
