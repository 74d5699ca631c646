#pragma once

#include "dsf/feedback/feedback.h"

namespace dsf {

/// Back-propagation through time:  g_t = e_t + g_{t+1} J_{t+1}   (paper, eq. 11)
///
/// exactly, or, if `rank` is not 0, with matrices of that rank in the place of U's blocks
/// (dsf/kernels/factored_weights.h).
class BpttFeedback final : public Feedback {
 public:
  explicit BpttFeedback(dim_t rank = 0) : rank_(rank) {}

  void run(BackwardPass& pass) override { pass.walk_jacobian(); }
  JacobianUse jacobian_use() const override { return {.needed = true, .rank = rank_}; }

 private:
  dim_t rank_;
};

/// Fully truncated BPTT: nothing goes back in time,  g_t = e_t
class TruncatedFeedback final : public Feedback {
 public:
  void run(BackwardPass& pass) override { pass.local_backward(); }
};

}  // namespace dsf
