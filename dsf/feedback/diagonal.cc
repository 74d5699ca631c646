#include "dsf/feedback/diagonal.h"

#include "dsf/kernels/diagonal_step.h"

namespace dsf {
namespace {

// The smallest batch that is fused by default: below it there are too few slices to share out, and
// a scan that cuts columns or time as well takes over. By shape alone, never by the number of
// threads.
constexpr dim_t kFusedBatch = 32;

ScanForm scan_of(DiagonalForm form) {
  switch (form) {
    case DiagonalForm::serial:
      return ScanForm::serial;
    case DiagonalForm::blocked:
      return ScanForm::blocked;
    case DiagonalForm::fft:
      return ScanForm::fft;
    default:
      return ScanForm::automatic;
  }
}

}  // namespace

bool DiagonalFeedback::is_fused(dim_t batch) const {
  return form_ == DiagonalForm::fused || (form_ == DiagonalForm::automatic && batch >= kFusedBatch);
}

void DiagonalFeedback::run(BackwardPass& pass) {
  if (is_fused(pass.layout().batch())) {
    return pass.walk([this](ConstMatrixF g_t, MatrixF g_previous) {
      add_diagonal_product(a_.span(), g_t, g_previous);
    });
  }
  const MatrixF g = pass.g();
  reverse_scan(scan_of(form_), pass.layout(), a_.span(), scan_, g);
  if (const MatrixF initial = pass.initial(); !initial.empty()) {
    add_diagonal_product(a_.span(), g.middle_rows(0, initial.rows), initial);
  }
  pass.local_backward();
}

dim_t DiagonalFeedback::workspace_numbers(const GradientShape& g) const {
  return is_fused(g.batch) ? 0 : scan_numbers(scan_of(form_), g.steps, g.batch, g.state);
}

}  // namespace dsf
