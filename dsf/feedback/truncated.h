#pragma once

#include "dsf/feedback/feedback.h"

namespace dsf {

/// Fully truncated BPTT: nothing goes back in time,  g_t = e_t
class TruncatedFeedback final : public Feedback {
 public:
  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;
};

}  // namespace dsf
