#pragma once

// y = x W^T + b over all rows of a batch.   W [out, in], b [out]

#include <string>

#include "dsf/kernels/gemm.h"
#include "dsf/kernels/packed_weights.h"
#include "dsf/layers/parameter.h"

namespace dsf {

/// Memory of one linear map's passes, kept from step to step. Owned by the caller.
struct LinearScratch {
  OperandScratch x;
  OperandScratch dy;
  Buffer<float> partial_sums;
};

/// A linear map with bias. Holds no values, except packed: forward and multiply pack those that they
/// are handed if they have changed, and backward uses what they packed.
class Linear {
 public:
  /// Adds `<prefix>weight` and `<prefix>bias` to the table. The bias starts at zero.
  Linear(ParameterTable& table, const std::string& prefix, dim_t in, dim_t out, Init weight_init);

  dim_t in() const { return weight_.cols; }
  dim_t out() const { return weight_.rows; }

  /// x [n, in], y [n, out] overwritten.
  void forward(Weights weights, ConstMatrixF x, LinearScratch& scratch, MatrixF y);
  /// The same without the bias, for a caller that adds it to what it reads anyway.
  void multiply(Weights weights, ConstMatrixF x, LinearScratch& scratch, MatrixF y);
  /// [out].
  const float* bias(Weights weights) const { return weights.vector(bias_); }

  /// dy [n, out]; dx [n, in] overwritten, may be x itself; gradients of W and b accumulated.
  void backward(ConstMatrixF x, ConstMatrixF dy, LinearScratch& scratch, MatrixF dx,
                Gradients gradients) const;
  /// The same for a dy in the precision of the forward pass; `sums` is any matrix with the column sums of dy.
  void backward(ConstMatrixF x, OperandView dy, ConstMatrixF sums, LinearScratch& scratch,
                MatrixF dx, Gradients gradients) const;

 private:
  ParameterId weight_;
  ParameterId bias_;
  PackedVersion packed_;
  Precision precision_ = Precision::f32;  // of what is packed
  PackedWeights forward_weights_;         // W^T [in, out]
  PackedWeights backward_weights_;        // W [out, in]
};

}  // namespace dsf
