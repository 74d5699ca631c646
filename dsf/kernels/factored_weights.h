#pragma once

// g += d U for a matrix U that many products share, as it is or by thin factors of it.

#include <initializer_list>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/kernels/low_rank.h"
#include "dsf/kernels/packed_weights.h"

namespace dsf {

/// Memory of one task's products; a slice of the batch is one task.
struct ProductScratch {
  OperandScratch operand;
  Matrix inner;  ///< [n, .]: d P, or what else stands between two products
};

/// Blocks of rows of U, packed for these products: as they are, or by factors of rank r.
///
///   g += d_1 U_1 + d_2 U_2 + ...    or    g += [d_1 P_1, d_2 P_2, ...] Q,    U_i ~ P_i Q_i
///
/// Q: all Q_i, one below the other.
class FactoredWeights {
 public:
  /// All blocks have D columns. `rank`: 0, or at least D: as they are. `rows`: of all products
  /// together, as for PackedWeights.
  void pack(std::initializer_list<ConstMatrixF> blocks, Precision precision, dim_t rank,
            dim_t rows = PackedWeights::kManyRows);

  dim_t blocks() const { return static_cast<dim_t>(blocks_.size()); }

  /// d: [n, rows of the block] for each of them, in the precision of pack(); g [n, D].
  void add_product(std::initializer_list<OperandView> d, ProductScratch& scratch, MatrixF g) const;

 private:
  struct Block {
    LowRankFactors factors;
    PackedWeights weights;  // U_i, or P_i
  };

  void pack_factors(std::initializer_list<ConstMatrixF> blocks);

  Precision precision_ = Precision::f32;
  dim_t rank_ = 0;  // 0: not factored
  std::vector<Block> blocks_;
  Matrix all_right_;
  PackedWeights right_;  // Q
};

}  // namespace dsf
