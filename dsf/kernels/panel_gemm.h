#pragma once

// Matrix products in f32 by Highway's vectors of any width: what multiplies by weights, packed once, on
// CPUs for which libxsmm has no kernels, and all products of two matrices that are used once. Every
// function here runs on the calling thread alone.
//
//   C [m, n]  =  A B   or   C += A B,   row-major
//
// B lies in panels of 16 columns, row by row. A block of up to 6 rows of C (12 with AVX-512) stays in
// registers while its rows of A meet one panel, or several at once where the registers hold more sums:
// with AVX-512, or with few rows. So there are enough independent sums to hide the latency of a multiply-add. Each sum
// takes its terms in the order of the inner dimension, in whatever block it is.

#include "dsf/base/buffer.h"
#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf::panels {

/// B [k, n], packed once: panels of kCols columns, one after the other, the last filled up with zeros.
class PackedRight {
 public:
  static constexpr dim_t kCols = 16;
  /// So many rows of A stay in the cache while B is read once; more are cut into blocks, each of which
  /// meets a group of panels.
  static constexpr dim_t kFewRows = 64;

  /// Keeps the memory it has.
  void reshape(dim_t k, dim_t n);
  /// Takes op(part), f32 or bf16, as the columns from `col` on, a multiple of kCols. Threads may pack
  /// different columns at once.
  void pack(Op op, const OperandView& part, dim_t col);
  /// C (+)= A B for as many columns of B as C has, from `col` on, a multiple of kCols. A is f32, or
  /// bf16, which is widened.
  void multiply(const OperandView& a, dim_t col, Into into, MatrixF c) const;

 private:
  friend void multiply(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into,
                       MatrixF c);

  Buffer<float> panels_;
  dim_t k_ = 0;
};

/// C (+)= op(A) op(B), f32 or bf16, both packed piece by piece: large tiles pay for that.
void multiply(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c);

/// C (+)= op(A) op(B) in f32 with B read where it lies, for so few rows of C that packing B does not pay.
void multiply_few_rows(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into,
                       MatrixF c);

}  // namespace dsf::panels
