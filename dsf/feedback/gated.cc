#include "dsf/feedback/gated.h"

#include "dsf/feedback/streaming.h"

namespace dsf {

void GatedFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                        FeedbackWorkspace& /*work*/, MatrixF g) {
  walk_backward(layout, streaming_rows(layout.batch()),
                [&](StepRows rows) { cell.own_path_step(rows, path_, g); });
  cell.finish_local_backward();
}

}  // namespace dsf
