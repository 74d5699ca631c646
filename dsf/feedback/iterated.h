#pragma once

#include <utility>

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// BPTT's equation solved by splitting J = D + R (D: OwnPath::gates) and iterating,
///
///   g^(0) = scan(e),   g^(i) = scan(e + g^(i-1) R),   scan: g_t = (.)_t + g_{t+1} D_{t+1}
///
/// k times. A correction is one matrix product over all rows of the batch (the GRU: two, its U in
/// two blocks) and one elementwise walk: nothing that multiplies matrices is sequential. g^(i) is
/// exact on the last i + 1 steps of each sequence, so k = 0 is `gated` and k >= T - 1 is BPTT.
///
/// With numbers `a` the first guess holds more: g^(0) = scan of D + a (1 - D), which is `gated:dsf`.
/// What a correction then sends from unit to unit comes from further ahead in time than the gates
/// alone would let it. k = 0 is `gated:dsf` and k >= T - 1 still BPTT.
class IteratedFeedback final : public Feedback {
 public:
  /// `a`: S numbers in [0, 1], or none.
  explicit IteratedFeedback(dim_t corrections, Buffer<float> a = {})
      : corrections_(corrections), a_(std::move(a)) {}

  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;
  bool needs_jacobian() const override { return corrections_ > 0; }
  bool makes_trials() const override { return corrections_ > 0; }
  /// errors and rest, and what the first guess takes.
  dim_t workspace_numbers(const GradientShape& g) const override {
    return (corrections_ > 0 ? 2 * g.size() : 0) + (a_.empty() ? 0 : g.batch * g.state);
  }
  std::vector<NamedBuffer> buffers() override;

 private:
  template <typename FollowOwnPath>
  void walk(const PackedLayout& layout, bool first_guess, FeedbackWorkspace& work,
            FollowOwnPath&& follow_own_path, MatrixF g);

  dim_t corrections_;
  Buffer<float> a_;
};

}  // namespace dsf
