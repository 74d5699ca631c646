#pragma once

// Elementwise operations and column sums on matrix views. All are parallel. x and y have equal
// shapes and share no memory.

#include "dsf/base/buffer.h"
#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf {

/// y += x
void add(ConstMatrixF x, MatrixF y);

/// y += 1 bias^T: `bias` [y.cols] is added to every row.
void add_bias(const float* bias, MatrixF y);

/// sums[j] += sum_i x(i, j), `sums` [x.cols]. Rows are summed in chunks of fixed size, the chunks
/// are added in order, in f32. `work` grows to one row per chunk; its content means nothing between
/// calls.
void column_sums(const OperandView& x, Buffer<float>& work, float* sums);

/// y = x
void copy(ConstMatrixF x, MatrixF y);

/// y = value everywhere.
void fill(float value, MatrixF y);

}  // namespace dsf
