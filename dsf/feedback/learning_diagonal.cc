#include "dsf/feedback/learning_diagonal.h"

#include <algorithm>
#include <cmath>

#include "dsf/feedback/bptt.h"
#include "dsf/kernels/elementwise.h"

namespace dsf {

void LearningDiagonal::run(const PackedLayout& layout, BackwardAccess& cell,
                           FeedbackWorkspace& work, MatrixF g) {
  if (exact_batches_.is_due()) {
    copy(g, work.errors.reshape(g.rows, g.cols));
    BpttFeedback().run(layout, cell, work, g);
    learn(layout, work.errors, g);
  } else {
    scan_.run(layout, cell, work, g);
  }
  exact_batches_.count();
}

void LearningDiagonal::set_diagonal(dim_t j, double next) {
  if (!std::isfinite(next)) return;
  diagonal()[static_cast<std::size_t>(j)] = static_cast<float>(std::clamp(next, -1.0, 1.0));
}

}  // namespace dsf
