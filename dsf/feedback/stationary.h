#pragma once

// DSF's idea with a matrix that is not diagonal:
//
//   g_t = e_t + g_{t+1} A     A: fixed at the start, never trained; its norm is at most 1
//
// A has a structure that makes the product cheap, row by row and without a large matrix product, so
// the path through time is one walk with the local backward pass, as DSF's fused form. A structure
// is one small file: pairs.h, low_rank.h.

#include <memory>
#include <utility>
#include <vector>

#include "dsf/feedback/feedback.h"

namespace dsf {

/// A [S, S].
class FixedMatrix {
 public:
  virtual ~FixedMatrix() = default;
  /// g_previous [n, S] += g [n, S] A, on the calling thread; no aliasing.
  virtual void add_product(ConstMatrixF g, MatrixF g_previous) const = 0;
  /// The numbers A is made of, stored with the model.
  virtual std::vector<NamedBuffer> buffers() = 0;
};

/// The walk through time, for any FixedMatrix.
class StationaryFeedback final : public Feedback {
 public:
  explicit StationaryFeedback(std::unique_ptr<FixedMatrix> matrix) : matrix_(std::move(matrix)) {}

  void run(BackwardPass& pass) override {
    pass.walk(
        [this](ConstMatrixF g_t, MatrixF g_previous) { matrix_->add_product(g_t, g_previous); });
  }
  std::vector<NamedBuffer> buffers() override { return matrix_->buffers(); }

 private:
  std::unique_ptr<FixedMatrix> matrix_;
};

}  // namespace dsf
