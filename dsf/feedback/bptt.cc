#include "dsf/feedback/bptt.h"

#include "dsf/cells/slices.h"

namespace dsf {

void BpttFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                       FeedbackWorkspace& /*work*/, MatrixF g) {
  walk_backward(layout, kSliceRows, [&](StepRows rows) { cell.backward_step(rows, path_, g); });
}

}  // namespace dsf
