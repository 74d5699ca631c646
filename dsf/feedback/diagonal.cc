#include "dsf/feedback/diagonal.h"

#include "dsf/feedback/streaming.h"
#include "dsf/kernels/diagonal_step.h"

namespace dsf {
namespace {

// The smallest batch that is fused by default: below it there are too few slices to share out, and
// the blocked scan, which also cuts time, takes over. By shape alone, never by the number of
// threads.
constexpr dim_t kFusedBatch = 4 * kStreamingRows;

DiagonalForm choose_form(DiagonalForm form, const PackedLayout& layout) {
  if (form != DiagonalForm::automatic) return form;
  return layout.batch() >= kFusedBatch ? DiagonalForm::fused : DiagonalForm::blocked;
}

}  // namespace

void DiagonalFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                           FeedbackWorkspace& work, MatrixF g) {
  switch (choose_form(form_, layout)) {
    case DiagonalForm::automatic:
    case DiagonalForm::fused:
      run_fused(layout, cell, g);
      return;
    case DiagonalForm::serial:
      reverse_scan_serial(layout, a_.span(), g);
      break;
    case DiagonalForm::blocked:
      reverse_scan_blocked(layout, a_.span(), work.scan, g);
      break;
    case DiagonalForm::fft:
      reverse_scan_fft(layout, a_.span(), work.scan, g);
      break;
  }
  cell.local_backward_all(g);
}

void DiagonalFeedback::run_fused(const PackedLayout& layout, BackwardAccess& cell,
                                 MatrixF g) const {
  walk_backward(layout, kStreamingRows, [&](StepRows rows) {
    cell.local_backward(rows, g);
    if (rows.t == 0) return;
    const ConstMatrixF g_t = g.middle_rows(layout.offset(rows.t) + rows.begin, rows.count);
    const MatrixF g_previous = g.middle_rows(layout.offset(rows.t - 1) + rows.begin, rows.count);
    add_diagonal_product(a_.span(), g_t, g_previous);
  });
  cell.finish_local_backward(g);
}

}  // namespace dsf
