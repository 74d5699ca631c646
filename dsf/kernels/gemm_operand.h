#pragma once

// What matrix products have in common: operands as blocks and as f32 copies, and the product of
// nothing. Everything here runs on the calling thread.

#include "dsf/base/buffer.h"
#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf {

/// Who multiplies operands of a precision if both are as they are, m being the rows of C: our own
/// kernels on panels (panel_gemm.h), or those for few rows, libxsmm's, or our own on AMX.
enum class Multiplier { panels, few_rows, xsmm, amx };
Multiplier multiplier_of(Precision precision, dim_t m);
/// The same if B is packed once for many products.
enum class PackedMultiplier { panels, xsmm, amx };
PackedMultiplier packed_multiplier_of(Precision precision);

/// Shape of op(X).
inline dim_t op_rows(Op op, const OperandView& x) { return op == Op::none ? x.rows : x.cols; }
inline dim_t op_cols(Op op, const OperandView& x) { return op == Op::none ? x.cols : x.rows; }

/// The part of X, as stored, that holds rows [row, row + rows) and columns [col, col + cols) of
/// op(X).
OperandView op_block(Op op, const OperandView& x, dim_t row, dim_t rows, dim_t col, dim_t cols);

/// target [rows, cols of op(X)] = op(X) in f32. `target` is overwritten and does not overlap X.
void copy_op(Op op, const OperandView& x, MatrixF target);

/// A matrix in f32: op(view).
struct Factor {
  Op op;
  ConstMatrixF view;
};

/// op(X) as it is, which must be f32, or as an f32 copy in `scratch`.
Factor present(Op op, const OperandView& x, bool copy, Buffer<float>& scratch);

/// A stride >= cols of aligned rows for a copy, an odd number of cache lines: rows a multiple of 2 KiB apart
/// share so few places of the first-level cache that a product loses a third of its speed.
constexpr dim_t copy_stride(dim_t cols) {
  constexpr dim_t kCacheLine = 16;  // floats
  const dim_t lines = ceil_div(cols, kCacheLine);
  return (lines % 2 == 0 ? lines + 1 : lines) * kCacheLine;
}

/// True if there is nothing to multiply, k being the inner dimension. C then is the empty sum.
bool is_trivial(dim_t k, Into into, MatrixF c);

}  // namespace dsf
