#pragma once

#include "dsf/feedback/feedback.h"

namespace dsf {

/// Back-propagation through time, exact:  g_t = e_t + g_{t+1} J_{t+1}   (paper, eq. 11)
class BpttFeedback final : public Feedback {
 public:
  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;
  bool needs_jacobian() const override { return true; }
};

}  // namespace dsf
