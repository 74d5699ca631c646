#pragma once

#include "dsf/feedback/feedback.h"

namespace dsf {

/// BPTT's equation solved by splitting J = D + R (D: OwnPath::gates) and iterating,
///
///   g^(0) = scan(e),   g^(i) = scan(e + g^(i-1) R),   scan: g_t = (.)_t + g_{t+1} D_{t+1}
///
/// k times. A correction is one matrix product over all rows of the batch (the GRU: two, its U in
/// two blocks) and one elementwise walk: nothing that multiplies matrices is sequential. g^(i) is
/// exact on the last i + 1 steps of each sequence, so k = 0 is `gated` and k >= T - 1 is BPTT.
class IteratedFeedback final : public Feedback {
 public:
  explicit IteratedFeedback(dim_t corrections) : corrections_(corrections) {}

  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;
  bool needs_jacobian() const override { return corrections_ > 0; }
  bool makes_trials() const override { return corrections_ > 0; }
  /// errors and rest.
  dim_t workspace_numbers(const GradientShape& g) const override {
    return corrections_ > 0 ? 2 * g.size() : 0;
  }

 private:
  dim_t corrections_;
};

}  // namespace dsf
