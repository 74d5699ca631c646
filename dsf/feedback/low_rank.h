#pragma once

#include "dsf/base/rng.h"
#include "dsf/feedback/stationary.h"

namespace dsf {

/// A diagonal and something of rank K that joins all units:
///
///   A = (diag(a) + P Q^T) / 2     a [S] from [low, high];  P, Q [S, K] random, orthonormal columns
///
/// The half keeps A's norm at most 1. 4 K S flops a row.
class LowRankMatrix final : public FixedMatrix {
 public:
  LowRankMatrix(dim_t state_size, dim_t rank, double low, double high, Rng rng);

  void add_product(ConstMatrixF g, MatrixF g_previous) const override;
  /// diagonal [S] = a / 2; in [K, S] = P^T / 2, out [K, S] = Q^T.
  std::vector<NamedBuffer> buffers() override;

 private:
  dim_t rank_;
  Buffer<float> diagonal_;
  Buffer<float> in_;
  Buffer<float> out_;
};

}  // namespace dsf
