#pragma once

#include <utility>

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// The gates' path, and DSF's fixed diagonal on what that one forgets:
///
///   g_{t-1} = e_{t-1} + g_t D_t + a (g_t - g_t D_t)          D: OwnPath::gates
///
/// One streaming pass, local backward included, no matrix product. D = 0 would be `dsf`, a = 0 is
/// `gated`.
class GatedDsfFeedback final : public Feedback {
 public:
  /// `a`: S numbers in [0, 1].
  explicit GatedDsfFeedback(Buffer<float> a) : a_(std::move(a)) {}

  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;
  dim_t workspace_numbers(const GradientShape& g) const override { return g.batch * g.state; }
  std::vector<NamedBuffer> buffers() override { return {{"diagonal", a_.span()}}; }

 private:
  Buffer<float> a_;
};

}  // namespace dsf
