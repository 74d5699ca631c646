#pragma once

// What the matrix products need of oneDNN, and nothing else: gemm_onednn.cc is the only file that
// depends on its version. Every function here runs on the calling thread alone.
//
//   C [m, n]  =  op(A) op(B)   or   C += op(A) op(B);   sums and C in f32, all row-major

#include <cstddef>

#include "dsf/base/buffer.h"
#include "dsf/base/dim.h"
#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf::onednn {

/// True where the CPU has, and oneDNN uses, AMX for bf16.
bool has_amx();

/// C (+)= op(A) op(B) in f32. C is not read for Into::overwrite.
void sgemm(Op op_a, ConstMatrixF a, Op op_b, ConstMatrixF b, Into into, MatrixF c);

/// C (+)= op(A) op(B) by a compiled primitive for this shape and precision; primitives are kept, a
/// bounded number a thread. False, with nothing done, where oneDNN has only its slow reference.
bool matmul(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c);

/// B [k, n] in the layout oneDNN's kernels read fastest.
class PackedPanel {
 public:
  /// Copies op(source). Reuses the memory of an earlier pack.
  void pack(Op op, const OperandView& source);
  /// C (+)= A B. A has the precision of the packed source.
  void multiply(const OperandView& a, Into into, MatrixF c) const;

 private:
  Buffer<std::byte> bytes_;
  Precision precision_ = Precision::f32;
  dim_t k_ = 0;
  dim_t n_ = 0;
};

}  // namespace dsf::onednn
