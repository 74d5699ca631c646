#pragma once

// Matrix products with kernels that libxsmm generates: in bf16 all of them, in f32 those with a packed
// B (weight gradients in f32 are as fast on our own panels, which transpose more cheaply). Every
// function here runs on the calling thread alone, and may be called only if available(precision) of
// xsmm_kernels.h.
//
//   C [m, n]  =  op(A) op(B)   or   C += op(A) op(B);   sums and C in f32, all row-major

#include <cstddef>

#include "dsf/base/buffer.h"
#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf::xsmm {

/// Columns of the panels in which B is packed: four registers, so that six rows of C fill the others.
inline constexpr dim_t kPanelCols = 64;

/// C (+)= op(A) op(B), A and B in bf16.
void multiply(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c);

/// C (+)= A B, B one panel as it is packed: what is done if libxsmm has no kernel for a shape.
void multiply_without_kernel(const OperandView& a, const std::byte* panel, Into into, MatrixF c);

/// B [k, n], packed once: panels of kPanelCols columns, one after the other.
class PackedRight {
 public:
  /// Keeps the memory it has.
  void reshape(Precision precision, dim_t k, dim_t n);
  /// Takes op(part) as the columns from `col` on, a multiple of kPanelCols. Threads may pack different
  /// columns at once.
  void pack(Op op, const OperandView& part, dim_t col);
  /// C (+)= A B for as many columns of B as C has, from `col` on, a multiple of kPanelCols.
  void multiply(const OperandView& a, dim_t col, Into into, MatrixF c) const;
  /// The first panel.
  const std::byte* panels() const { return panels_.data(); }

 private:
  Buffer<std::byte> panels_;
  dim_t panel_bytes_ = 0;
};

}  // namespace dsf::xsmm
