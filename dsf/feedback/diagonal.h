#pragma once

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"
#include "dsf/kernels/diagonal_scan.h"

namespace dsf {

/// How the diagonal scan is computed; all forms agree to rounding.
///   fused    each slice of sequences walks back through time once, local backward included
///   others   reverse_scan (dsf/kernels/diagonal_scan.h), then local backward of all rows
enum class DiagonalForm { automatic, fused, serial, blocked, fft };
template <>
struct ChoiceNames<DiagonalForm> {
  static constexpr std::array<std::string_view, 5> kNames = {"auto", "fused", "serial", "blocked",
                                                             "fft"};
};

/// Where the diagonal's numbers come from (FeedbackConfig::init).
enum class DiagonalInit { uniform, linspace, constant };
template <>
struct ChoiceNames<DiagonalInit> {
  static constexpr std::array<std::string_view, 3> kNames = {"uniform", "linspace", "constant"};
};

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
