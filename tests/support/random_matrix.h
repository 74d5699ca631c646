#pragma once

// Matrices and vectors of random numbers for tests; the same seed gives the same numbers.

#include <cstdint>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/base/rng.h"

namespace dsf::testing {

/// Normal numbers with mean 0 and the given deviation.
inline std::vector<float> normal_vector(dim_t size, std::uint64_t seed, double deviation = 1.0) {
  Rng rng(seed);
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& x : values) x = static_cast<float>(deviation * rng.normal());
  return values;
}

/// A [rows, cols] matrix of normal numbers, optionally inside wider rows: what lies between them is
/// kMargin and must still be there after a kernel has run.
class RandomMatrix {
 public:
  static constexpr float kMargin = 12345.0F;

  RandomMatrix(dim_t rows, dim_t cols, std::uint64_t seed, double deviation = 1.0, dim_t margin = 0)
      : rows_(rows), cols_(cols), stride_(cols + margin), values_(rows * stride_) {
    Rng rng(seed);
    for (dim_t i = 0; i < rows * stride_; ++i) {
      values_[i] = i % stride_ < cols ? static_cast<float>(deviation * rng.normal()) : kMargin;
    }
  }

  MatrixF view() { return {values_.data(), rows_, cols_, stride_}; }
  ConstMatrixF view() const { return {values_.data(), rows_, cols_, stride_}; }

  bool margin_untouched() const {
    for (dim_t i = 0; i < rows_ * stride_; ++i) {
      if (i % stride_ >= cols_ && values_[i] != kMargin) return false;
    }
    return true;
  }

 private:
  dim_t rows_;
  dim_t cols_;
  dim_t stride_;
  Buffer<float> values_;
};

}  // namespace dsf::testing
