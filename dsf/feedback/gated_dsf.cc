#include "dsf/feedback/gated_dsf.h"

#include "dsf/feedback/streaming.h"
#include "dsf/kernels/diagonal_step.h"
#include "dsf/kernels/rows.h"

namespace dsf {

void GatedDsfFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                           FeedbackWorkspace& work, MatrixF g) {
  // Row b takes e_{t-1} of sequence b while its step t is under way.
  const MatrixF errors = work.step_errors.reshape(layout.batch(), g.cols);
  walk_backward(layout, streaming_rows(layout.batch()), [&](StepRows rows) {
    if (rows.t == 0) return cell.own_path_step(rows, OwnPath::gates, g);
    const ConstMatrixF g_t = g.middle_rows(layout.offset(rows.t) + rows.begin, rows.count);
    const MatrixF previous = g.middle_rows(layout.offset(rows.t - 1) + rows.begin, rows.count);
    const MatrixF e = errors.middle_rows(rows.begin, rows.count);
    copy_rows(previous, e);
    zero_rows(previous);
    cell.own_path_step(rows, OwnPath::gates, g);  // previous = g_t D_t
    join_paths(a_.span(), g_t, e, previous);
  });
  cell.finish_local_backward();
}

}  // namespace dsf
