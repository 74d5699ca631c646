#pragma once

// g += d U, the product by which gradients change units on their way back through time.

#include <initializer_list>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/cells/own_path.h"
#include "dsf/kernels/low_rank.h"
#include "dsf/kernels/packed_weights.h"

namespace dsf {

/// Which of them a feedback asks for, by RestPath (own_path.h).
struct StateProductUse {
  bool all = false;
  bool candidate = false;
  dim_t rank = 0;  ///< of matrices near U's blocks in their place; 0: U itself

  bool any() const { return all || candidate; }
};

constexpr StateProductUse state_products_by(RestPath path, dim_t rank = 0) {
  return {path == RestPath::all, path == RestPath::candidate, rank};
}

/// Memory of one task's products.
struct ProductScratch {
  OperandScratch operand;
  Matrix inner;  ///< [n, r of all blocks]: d P
};

/// Blocks of rows of U, packed for these products: as they are, or by factors of rank r.
///
///   g += d_1 U_1 + d_2 U_2 + ...    or    g += [d_1 P_1, d_2 P_2, ...] Q,    U_i ~ P_i Q_i
///
/// Q: all Q_i, one below the other.
class StateProductWeights {
 public:
  /// All blocks have D columns. `rank`: 0, or at least D: as they are.
  void pack(std::initializer_list<ConstMatrixF> blocks, Precision precision, dim_t rank);

  /// d: [n, rows of the block] for each of them; g [n, D].
  void add_product(std::initializer_list<ConstMatrixF> d, ProductScratch& scratch, MatrixF g) const;

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
