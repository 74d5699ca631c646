#pragma once

// y_i = E[token_i],  E [V, D]

#include <span>
#include <string>
#include <vector>

#include "dsf/base/token_batch.h"
#include "dsf/layers/parameter.h"

namespace dsf {

/// Rows of a batch ordered by token; kept from step to step. Owned by the caller.
struct EmbeddingScratch {
  std::vector<dim_t> first_row_of_token;  // V + 1, prefix sums of the tokens' counts
  std::vector<dim_t> next_place;          // V
  std::vector<dim_t> rows_by_token;       // N
};

/// A table of vectors, one per token.
class Embedding {
 public:
  /// Adds `<prefix>weight` [vocab, width], normal with `deviation`.
  Embedding(ParameterTable& table, const std::string& prefix, dim_t vocab, dim_t width,
            float deviation);

  dim_t vocab() const { return weight_.rows; }
  dim_t width() const { return weight_.cols; }

  /// y [N, D] overwritten.
  void forward(Weights weights, std::span<const token_t> tokens, MatrixF y) const;

  /// dE[token_i] += dy_i. The rows of a token are added in the order of the batch, whichever thread
  /// does it: a counting sort by token first, then tasks of whole tokens, no atomics.
  void backward(std::span<const token_t> tokens, ConstMatrixF dy, EmbeddingScratch& scratch,
                Gradients gradients) const;

 private:
  ParameterId weight_;
};

}  // namespace dsf
