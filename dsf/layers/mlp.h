#pragma once

// The feed-forward half of a transformer-like block:   y = GELU(x W1^T + b1) W2^T + b2,   4D inside
//
// Only the pre-activation  p = x W1^T + b1  is kept for the backward pass; GELU(p) is computed
// again.

#include <string>

#include "dsf/layers/linear.h"
#include "dsf/layers/parameter.h"

namespace dsf {

/// Memory of the passes over the rows of one call, kept from call to call. Owned by the caller.
struct MlpScratch {
  Matrix activated;    // [n, 4D]: GELU(p)
  Matrix d_activated;  // [n, 4D]: its gradient, then that of p
  LinearScratch in;
  LinearScratch out;
};

/// out GELU(in x): two linear maps, four times as wide between them.
class Mlp {
 public:
  static constexpr dim_t kExpansion = 4;

  /// Adds `<prefix>in.*` [4D, D] and `<prefix>out.*` [D, 4D]: normal weights with the two
  /// deviations.
  Mlp(ParameterTable& table, const std::string& prefix, dim_t width, float in_deviation,
      float out_deviation);

  dim_t inner_width() const { return in_.out(); }

  /// x [n, D]; p [n, 4D] and y [n, D] overwritten.
  void forward(Weights weights, ConstMatrixF x, MlpScratch& scratch, MatrixF p, MatrixF y);

  /// x, p: as in forward; dy [n, D]; dx [n, D] overwritten, may be x or dy itself; gradients
  /// accumulated.
  void backward(ConstMatrixF x, ConstMatrixF p, ConstMatrixF dy, MlpScratch& scratch, MatrixF dx,
                Gradients gradients) const;

 private:
  Linear in_;
  Linear out_;
};

}  // namespace dsf
