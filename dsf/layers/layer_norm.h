#pragma once

// y = LN(x): kernels/layer_norm with its trained vectors.   gamma [D] starts at one, beta [D] at
// zero

#include <string>

#include "dsf/base/buffer.h"
#include "dsf/kernels/layer_norm.h"
#include "dsf/layers/parameter.h"

namespace dsf {

/// The statistics of the rows seen forward, kept for the backward pass. Owned by the caller.
class LayerNormTape {
 public:
  /// Room for `rows` rows; contents undefined.
  void reshape(dim_t rows) {
    mean_.ensure(rows);
    rstd_.ensure(rows);
  }
  /// Of the rows from `first` on.
  LayerNormStatistics from_row(dim_t first) { return {mean_.data() + first, rstd_.data() + first}; }

 private:
  Buffer<float> mean_;
  Buffer<float> rstd_;
};

/// Layer normalisation of each row, with a trained scale and shift.
class LayerNorm {
 public:
  /// Adds `<prefix>weight` (gamma) and `<prefix>bias` (beta) to the table.
  LayerNorm(ParameterTable& table, const std::string& prefix, dim_t width);

  dim_t width() const { return gamma_.cols; }

  /// x [n, D]; y [n, D] and the n statistics overwritten.
  void forward(Weights weights, ConstMatrixF x, LayerNormStatistics statistics, MatrixF y);
  /// The same with the weights of the last forward, for a backward pass that computes y again.
  void repeat_forward(ConstMatrixF x, LayerNormStatistics statistics, MatrixF y) const;

  /// dy, x [n, D] and the statistics of x; dx [n, D] overwritten, may be dy itself; gradients
  /// accumulated. `work`: the kernel's partial sums, kept from step to step.
  void backward(ConstMatrixF dy, ConstMatrixF x, LayerNormStatistics statistics,
                Buffer<float>& work, MatrixF dx, Gradients gradients) const;

 private:
  ParameterId gamma_;
  ParameterId beta_;
  LayerNormWeights values_;  // of the last forward
};

}  // namespace dsf
