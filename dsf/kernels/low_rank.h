#pragma once

// A matrix by two thin ones, for products that may be inexact:
//
//   A [n, m]  ~  P Q,    Q [r, m]: orthonormal rows,    P [n, r] = A Q^T
//
// The rows of Q nearly span A's r strongest right singular vectors: those of W A^T A made
// orthonormal, W [r, m] a fixed Gaussian matrix. (Halko, Martinsson and Tropp, "Finding structure
// with randomness", 2011: the range finder with one power iteration.) A function of A alone, so
// nothing has to be kept from one training step to the next.

#include "dsf/base/buffer.h"
#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf {

/// The two thin matrices, and the memory to find them again after A has changed.
class LowRankFactors {
 public:
  /// `rank`: r, less than n and m. Products in `precision`, sums in f32.
  void fit(ConstMatrixF a, dim_t rank, Precision precision);

  ConstMatrixF left() const { return left_; }    ///< P
  ConstMatrixF right() const { return right_; }  ///< Q

 private:
  void draw_probe(dim_t rank, dim_t columns);

  Matrix probe_;  // W
  Matrix left_;
  Matrix right_;
  OperandScratch whole_operand_;
  OperandScratch thin_operand_;
};

}  // namespace dsf
