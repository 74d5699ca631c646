#pragma once

#include "dsf/base/buffer.h"
#include "dsf/base/rng.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// DSF with a fixed matrix that joins all units, a diagonal and a product of rank K:
///
///   g_t = e_t + g_{t+1} A
///   A = (diag(a) + P Q^T) / 2     a [S] from [low, high];  P, Q [S, K] random, orthonormal columns
///
/// The half keeps A's norm at most 1. It takes 4 K S flops per row.
class LowRankFeedback final : public Feedback {
 public:
  LowRankFeedback(dim_t state_size, dim_t rank, double low, double high, Rng rng);

  void run(BackwardPass& pass) override {
    pass.walk([this](ConstMatrixF g_t, MatrixF g_previous) { add_product(g_t, g_previous); });
  }
  /// diagonal [S] = a / 2; in [K, S] = P^T / 2, out [K, S] = Q^T.
  std::vector<NamedBuffer> buffers() override;

 private:
  void add_product(ConstMatrixF g, MatrixF g_previous) const;

  dim_t rank_;
  Buffer<float> diagonal_;
  Buffer<float> in_;
  Buffer<float> out_;
};

}  // namespace dsf
