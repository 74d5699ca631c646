#pragma once

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// BPTT by correction of the gated scan. With J = D + R, the diagonal and the off-diagonal part,
///
///   g^(0)_t   = e_t + g^(0)_{t+1} D_{t+1}
///   g^(i+1)_t = e_t + g^(i)_{t+1} R_{t+1} + g^(i+1)_{t+1} D_{t+1}
///
/// k corrections hold every path that changes units at most k times; k >= T - 1 is BPTT. A
/// correction is one elementwise walk and one matrix product over all rows of the batch, so no
/// product waits for another step's: for machines with more cores than sequences.
class IteratedFeedback final : public Feedback {
 public:
  /// `corrections`: k, at least 1.
  explicit IteratedFeedback(dim_t corrections) : corrections_(corrections) {}

  void run(BackwardPass& pass) override;
  JacobianUse jacobian_use() const override { return {.needed = true, .trial = true}; }
  /// The guess, and what it sends off the diagonal.
  dim_t workspace_numbers(const GradientShape& g) const override { return 2 * g.size(); }

 private:
  dim_t corrections_;
  Matrix guess_;         // [N, S]: g^(i)
  Matrix off_diagonal_;  // [N, S]: row (t, b) is g^(i)_t R_t
};

}  // namespace dsf
