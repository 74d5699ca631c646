#include "dsf/kernels/diagonal_scan.h"

#include "dsf/kernels/diagonal_scan_tile.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

// What `automatic` stands for.
ScanForm form_for(ScanForm form, dim_t steps, dim_t batch, dim_t columns) {
  if (form != ScanForm::automatic) return form;
  // The blocked form computes nearly twice as much, so it has to win by using more threads; a few
  // are enough to saturate the memory.
  constexpr dim_t kSaturatingTasks = 8;
  const bool enough = batch == 0 || columns == 0 || steps < kSaturatingTasks * kScanChunk ||
                      StepCut(batch, columns).tasks() >= kSaturatingTasks;
  return enough ? ScanForm::serial : ScanForm::blocked;
}

}  // namespace

void reverse_scan_serial(const PackedLayout& layout, std::span<const float> a, MatrixF g) {
  if (g.empty()) return;
  const StepCut cut(layout.batch(), g.cols);
  parallel_for(cut.tasks(), [&](dim_t task) {
    scan_tile(layout, a.data(), cut.tile(task), 0, layout.steps(), g);
  });
}

void reverse_scan(ScanForm form, const PackedLayout& layout, std::span<const float> a,
                  ScanWorkspace& work, MatrixF g) {
  switch (form_for(form, layout.steps(), layout.batch(), g.cols)) {
    case ScanForm::blocked:
      return reverse_scan_blocked(layout, a, work, g);
    case ScanForm::fft:
      return reverse_scan_fft(layout, a, work, g);
    default:
      return reverse_scan_serial(layout, a, g);
  }
}

dim_t scan_numbers(ScanForm form, dim_t steps, dim_t batch, dim_t columns) {
  switch (form_for(form, steps, batch, columns)) {
    case ScanForm::blocked:
      return blocked_scan_numbers(steps, batch, columns);
    case ScanForm::fft:
      return fft_scan_numbers(steps, columns);
    default:
      return 0;
  }
}

}  // namespace dsf
