#pragma once

#include "dsf/feedback/feedback.h"

namespace dsf {

/// A diagonal that follows the cell:  g_t = e_t + g_{t+1} D_{t+1},  D: see dsf/cells/own_path.h.
/// Exact where J has nothing else. One streaming pass, local backward included, no matrix product.
class GatedFeedback final : public Feedback {
 public:
  explicit GatedFeedback(OwnPath path) : path_(path) {}

  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;

 private:
  OwnPath path_;
};

}  // namespace dsf
