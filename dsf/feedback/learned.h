#pragma once

#include "dsf/feedback/diagonal.h"
#include "dsf/feedback/exact_batches.h"

namespace dsf {

/// DSF whose diagonal learns to give BPTT's gradient. On a batch of the schedule BPTT's own g* is
/// computed, so that batch trains exactly; and with DSF's p of the same errors, unit by unit,
///
///   p_t = e_t + a p_{t+1},    v_t = dp_t/da = p_{t+1} + a v_{t+1}
///   a <- a + 1/2 sum (g*_t - p_t) v_t / sum v_t^2,   cut to [-1, 1]
///
/// half a Gauss-Newton step on sum (g*_t - p_t)^2: all lags count, where `fitted` looks at one step
/// back only. Starts from DSF's own diagonal.
class LearnedFeedback final : public Feedback {
 public:
  LearnedFeedback(Buffer<float> a, DiagonalForm form, FitSchedule schedule);

  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;
  bool needs_jacobian() const override { return true; }
  /// errors, and the scan's.
  dim_t workspace_numbers(const GradientShape& g) const override {
    return g.size() + scan_.workspace_numbers(g);
  }
  /// diagonal [S] = a, and the schedule's counters.
  std::vector<FeedbackBuffer> buffers() override;

 private:
  void learn(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact);

  DiagonalFeedback scan_;
  ExactBatches exact_batches_;
};

}  // namespace dsf
