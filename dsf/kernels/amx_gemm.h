#pragma once

// Matrix products of bf16 on AMX. Every function here runs on the calling thread alone.
//
//   C [m, n]  =  op(A) op(B)   or   C += op(A) op(B);   sums and C in f32, all row-major

#include "dsf/base/buffer.h"
#include "dsf/base/view.h"
#include "dsf/kernels/amx_tiles.h"
#include "dsf/kernels/gemm.h"

namespace dsf::amx {

/// C (+)= op(A) op(B).
void multiply(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c);

/// B [k, n], packed once.
class PackedRight {
 public:
  /// Keeps the memory it has.
  void reshape(dim_t k, dim_t n);
  /// Takes op(part) as the columns from `col` on, a multiple of kTileCols. Threads may pack different
  /// columns at once.
  void pack(Op op, const OperandView& part, dim_t col);
  /// C (+)= A B for as many columns of B as C has, from `col` on, a multiple of kTileCols.
  void multiply(const OperandView& a, dim_t col, Into into, MatrixF c) const;

 private:
  Buffer<bf16_t> tiles_;
  dim_t col_pitch_ = 0;  // from the tiles of 16 columns to those of the next
};

}  // namespace dsf::amx
