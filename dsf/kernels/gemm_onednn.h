#pragma once

// What the matrix products need of oneDNN: f32, on the calling thread alone.
//
//   C [m, n]  =  op(A) op(B)   or   C += op(A) op(B);   all row-major

#include "dsf/base/max_isa.h"
#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf::onednn {

/// oneDNN uses no instructions beyond these, in this process. To be called before anything else of it.
void limit_to(Isa isa);

/// C (+)= op(A) op(B) in f32. C is not read for Into::overwrite.
void sgemm(Op op_a, ConstMatrixF a, Op op_b, ConstMatrixF b, Into into, MatrixF c);

}  // namespace dsf::onednn
