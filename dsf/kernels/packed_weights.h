#pragma once

// Products with a matrix that stays the same for many of them:   C = A B   or   C += A B,   B packed

#include <memory>

#include "dsf/base/view.h"
#include "dsf/kernels/gemm.h"

namespace dsf {

/// A weight matrix converted and packed once and multiplied by many times: the right operand B of
/// C = A B, where B is `source` or its transpose. Holds a copy, or a view of `source` if few rows
/// are multiplied: pack again after every change, which reuses the memory. May be read by several
/// threads at once.
class PackedWeights {
 public:
  PackedWeights();
  ~PackedWeights();
  PackedWeights(PackedWeights&&) noexcept;
  PackedWeights& operator=(PackedWeights&&) noexcept;

  static constexpr dim_t kManyRows = dim_t{1} << 30U;
  /// Whether a packed copy is worth its price for A of so many rows, in one product or in several.
  static constexpr bool pays(dim_t rows) { return rows >= 32; }

  /// `rows`: of all A together until the next pack. Below what pays, `source` itself is read, and
  /// has to stay.
  void pack(ConstMatrixF source, Op op, Precision precision, dim_t rows = kManyRows);

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// C (+)= A B with packed B. A has the precision B was packed in.
void gemm(OperandView a, const PackedWeights& b, Into into, MatrixF c);

}  // namespace dsf
