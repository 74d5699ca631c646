#pragma once

#include <utility>

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// DSF's idea with a full matrix, for study:  g_t = e_t + g_{t+1} A,  A [S, S] fixed at the start.
///
/// Step by step that would be T thin products, BPTT's own price. With powers of A it is log2(T)
/// products over all rows, one after another: each joins sums over twice as many steps,
///
///   g^(0) = e,   g^(k+1)_t = g^(k)_t + g^(k)_{t+h} A^h,   h = 2^k
///
/// so that g^(k)_t = sum over i < h of e_{t+i} A^i.
class DenseFeedback final : public Feedback {
 public:
  explicit DenseFeedback(Matrix a) : a_(std::move(a)) {}

  void run(BackwardPass& pass) override;
  /// product, power and square.
  dim_t workspace_numbers(const GradientShape& g) const override {
    return g.size() + 2 * g.state * g.state;
  }
  /// matrix [S, S]: A, row by row.
  std::vector<NamedBuffer> buffers() override { return {{"matrix", a_.span()}}; }

 private:
  Matrix a_;
  Matrix power_;    // [S, S]: the power of A in use
  Matrix square_;   // [S, S]: the next one
  Matrix product_;  // [., S]: g times that power
};

}  // namespace dsf
