#include "dsf/feedback/stationary.h"

#include "dsf/feedback/streaming.h"

namespace dsf {

void StationaryFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                             FeedbackWorkspace& /*work*/, MatrixF g) {
  const auto add_product = [&](ConstMatrixF g_t, MatrixF g_previous) {
    matrix_->add_product(g_t, g_previous);
  };
  stream_back(layout, cell, add_product, g);
}

}  // namespace dsf
