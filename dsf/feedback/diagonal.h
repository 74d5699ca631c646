#pragma once

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"
#include "dsf/kernels/diagonal_scan.h"

namespace dsf {

/// Diagonal State Feedbacks:  g_t = e_t + a g_{t+1}   (paper, eq. 13 with A = diag(a))
class DiagonalFeedback final : public Feedback {
 public:
  /// `a`: S numbers in [-1, 1]; dsf draws from [0, 1], what is fitted may be negative.
  DiagonalFeedback(Buffer<float> a, DiagonalForm form) : a_(std::move(a)), form_(form) {}

  void run(BackwardPass& pass) override;
  /// The scan's.
  dim_t workspace_numbers(const GradientShape& g) const override;
  std::vector<NamedBuffer> buffers() override { return {{"diagonal", a_.span()}}; }
  std::span<float> diagonal() { return a_.span(); }

 private:
  bool is_fused(dim_t batch) const;

  Buffer<float> a_;
  DiagonalForm form_;
  ScanWorkspace scan_;
};

}  // namespace dsf
