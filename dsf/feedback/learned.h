#pragma once

#include "dsf/feedback/learning_diagonal.h"

namespace dsf {

/// DSF whose diagonal learns to give BPTT's gradient. On a batch of the schedule BPTT's own g* is
/// computed, so that batch trains exactly; and with DSF's p of the same errors, unit by unit,
///
///   p_t = e_t + a p_{t+1},    v_t = dp_t/da = p_{t+1} + a v_{t+1}
///   a <- a + 1/2 sum (g*_t - p_t) v_t / sum v_t^2,   cut to [-1, 1]
///
/// half a Gauss-Newton step on sum (g*_t - p_t)^2: all lags count, where `fitted` looks at one step
/// back only. Starts from DSF's own diagonal.
class LearnedFeedback final : public LearningDiagonal {
 public:
  using LearningDiagonal::LearningDiagonal;

  /// diagonal [S] = a, and the schedule's counters.
  std::vector<NamedBuffer> buffers() override;

 private:
  void learn(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact) override;
};

}  // namespace dsf
