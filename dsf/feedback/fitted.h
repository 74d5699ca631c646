#pragma once

#include "dsf/feedback/learning_diagonal.h"

namespace dsf {

/// DSF with the diagonal that is closest to the cell's Jacobian on the gradients it meets:
///
///   a_j = argmin sum over rows (g_{t+1} J_{t+1} - a g_{t+1})_j^2
///       = sum (g_{t+1} J_{t+1})_j g_{t+1,j} / sum g_{t+1,j}^2,   cut to [-1, 1]
///
/// On a batch to fit on g is BPTT's own, so that batch trains exactly, and g_{t+1} J_{t+1} is
/// g_t - e_t. The sums of earlier batches count half with each later refit (not with the
/// calibration's). All that is learned is in the buffers, so that a resumed run goes on to the bit.
class FittedFeedback final : public LearningDiagonal {
 public:
  FittedFeedback(dim_t state_size, DiagonalForm form, FitSchedule schedule);

  /// diagonal [S] = a; products [S] and squares [S], the two sums; the schedule's counters.
  std::vector<NamedBuffer> buffers() override;

 private:
  void learn(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact) override;

  Buffer<float> products_;
  Buffer<float> squares_;
};

}  // namespace dsf
