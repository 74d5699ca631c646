#pragma once

// The output layer and its loss in one: logits = h W^T + b, softmax cross-entropy, and the
// gradients.
//
//   p = softmax(h W^T + b)              W [V, D], b [V]
//   loss  = - sum over rows of log p[target]
//   dlogits = (p - onehot(target)) * scale
//   dh = dlogits W,  dW += dlogits^T h,  db += sum over rows of dlogits
//
// The [N, V] matrix of logits never exists: rows go through in chunks, forward and backward of a
// chunk together while it is in cache.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dsf/base/token_batch.h"
#include "dsf/layers/linear.h"

namespace dsf {

/// Memory of the head, independent of N. Owned by the caller.
struct SoftmaxHeadScratch {
  Matrix logits;            // [chunk, V]
  Buffer<bf16_t> gradient;  // [chunk, V], in bf16, in rows of whole cache lines
  Matrix gradient_sums;     // a row for every kGradientGroup rows of a chunk
  LinearScratch linear;
  std::vector<float> loss;            // of the rows of a chunk
  std::vector<std::uint8_t> correct;  // of the rows of a chunk
};

/// Sums over rows.
struct HeadResult {
  double loss = 0.0;
  dim_t correct = 0;
};

/// Logits, loss and both gradients of the output layer, chunk by chunk.
class SoftmaxHead {
 public:
  /// Adds `<prefix>weight` and `<prefix>bias`.
  SoftmaxHead(ParameterTable& table, const std::string& prefix, dim_t width, dim_t vocab,
              float deviation)
      : linear_(table, prefix, width, vocab, Init::normal(deviation)) {}

  /// h [N, D]; dh [N, D] overwritten, may be h itself; gradients accumulated; all scaled by
  /// `scale`.
  HeadResult forward_backward(Weights weights, ConstMatrixF h, std::span<const token_t> targets,
                              float scale, SoftmaxHeadScratch& scratch, MatrixF dh,
                              Gradients gradients);

  HeadResult evaluate(Weights weights, ConstMatrixF h, std::span<const token_t> targets,
                      SoftmaxHeadScratch& scratch);

  /// logits [N, V] overwritten: for few rows.
  void logits(Weights weights, ConstMatrixF h, SoftmaxHeadScratch& scratch, MatrixF logits);

 private:
  Linear linear_;
};

}  // namespace dsf
