#pragma once

#include "dsf/base/bf16.h"
#include "dsf/base/dim.h"
#include "dsf/base/view.h"

namespace dsf {

/// y_j = to_bf16(x_j) for j < n, the same bits, on the calling thread.
void to_bf16_row(const float* x, dim_t n, bf16_t* y);

/// y = x in bf16, of equal shape, and sums_j += sum_i x(i, j), in f32, on the calling thread.
void round_and_add(ConstMatrixF x, MatrixView<bf16_t> y, float* sums);

}  // namespace dsf
