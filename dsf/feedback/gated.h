#pragma once

#include <utility>

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// A diagonal that follows the cell:
///
///   gated      g_t = e_t + g_{t+1} D_{t+1}                    D: the diagonal part of J
///   gated:dsf  g_t = e_t + g_{t+1} (D_{t+1} + a (1 - D_{t+1}))
///
/// with DSF's numbers a for what D forgets; a = 0 is `gated`, which is exact if J has no
/// off-diagonal part. One pass over memory, local backward included, without a matrix product.
class GatedFeedback final : public Feedback {
 public:
  /// `a`: S numbers in [0, 1], or none for `gated`.
  explicit GatedFeedback(Buffer<float> a = {}) : a_(std::move(a)) {}

  void run(BackwardPass& pass) override;
  std::vector<NamedBuffer> buffers() override;

 private:
  Buffer<float> a_;
};

}  // namespace dsf
