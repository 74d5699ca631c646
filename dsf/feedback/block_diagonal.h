#pragma once

#include "dsf/base/rng.h"
#include "dsf/feedback/stationary.h"

namespace dsf {

/// Blocks of K units that act on each other: A is block diagonal, each block a random orthogonal
/// matrix times a number drawn from [low, high]. K = 1: DSF's diagonal, with random signs. K >= S:
/// one dense matrix. 2 K S flops a row.
class BlockDiagonalMatrix final : public FixedMatrix {
 public:
  BlockDiagonalMatrix(dim_t state_size, dim_t block, double low, double high, Rng rng);

  void add_product(ConstMatrixF g, MatrixF g_previous) const override;
  /// blocks [S, K]: the rows of the blocks, one block below the other.
  std::vector<NamedBuffer> buffers() override { return {{"blocks", values_.span()}}; }

 private:
  dim_t block_;
  Buffer<float> values_;
};

}  // namespace dsf
