#include "dsf/feedback/learning_diagonal.h"

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

}  // namespace dsf
