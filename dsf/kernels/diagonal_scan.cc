#include "dsf/kernels/diagonal_scan.h"

#include "dsf/kernels/diagonal_scan_tile.h"
#include "dsf/kernels/parallel.h"

namespace dsf {

void reverse_scan_serial(const PackedLayout& layout, std::span<const float> a, MatrixF g) {
  if (g.empty()) return;
  const StepCut cut(layout.batch(), g.cols);
  parallel_for(cut.tasks(), [&](dim_t task) {
    scan_tile(layout, a.data(), cut.tile(task), 0, layout.steps(), g);
  });
}

void reverse_scan(ScanForm form, const PackedLayout& layout, std::span<const float> a,
                  ScanWorkspace& work, MatrixF g) {
  if (form == ScanForm::automatic) {
    // The blocked form computes nearly twice as much, so it has to win by using more threads; a few
    // are enough to saturate the memory.
    constexpr dim_t kSaturatingTasks = 8;
    const bool enough = g.empty() || layout.steps() < kSaturatingTasks * kScanChunk ||
                        StepCut(layout.batch(), g.cols).tasks() >= kSaturatingTasks;
    form = enough ? ScanForm::serial : ScanForm::blocked;
  }
  switch (form) {
    case ScanForm::blocked:
      return reverse_scan_blocked(layout, a, work, g);
    case ScanForm::fft:
      return reverse_scan_fft(layout, a, work, g);
    default:
      return reverse_scan_serial(layout, a, g);
  }
}

}  // namespace dsf
