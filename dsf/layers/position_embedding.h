#pragma once

// Learned positions, added to the embedded tokens:   y(t, b) += P[t],   P [context, D]

#include <string>

#include "dsf/base/packed_layout.h"
#include "dsf/layers/parameter.h"

namespace dsf {

/// One trained vector a position, for mixers that cannot tell positions apart.
class PositionEmbedding {
 public:
  /// Adds `<prefix>weight` [context, width], normal with `deviation`.
  PositionEmbedding(ParameterTable& table, const std::string& prefix, dim_t context, dim_t width,
                    float deviation);

  dim_t context() const { return weight_.rows; }

  /// y [N, D] in-out. Throws DataError if a sequence is longer than the context.
  void forward(Weights weights, const PackedLayout& layout, MatrixF y) const;

  /// dP[t] += sum over b of dy(t, b), in the order of the batch. The gradient of what the positions
  /// were added to is dy itself.
  void backward(const PackedLayout& layout, ConstMatrixF dy, Gradients gradients) const;

 private:
  ParameterId weight_;
};

}  // namespace dsf
