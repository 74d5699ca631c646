#include "dsf/layers/embedding.h"

#include <algorithm>

#include "dsf/kernels/parallel.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

constexpr dim_t kRowsPerTask = 256;
constexpr dim_t kTokensPerTask = 512;

void sort_rows_by_token(std::span<const token_t> tokens, dim_t vocab, EmbeddingScratch& scratch) {
  auto& first = scratch.first_row_of_token;
  first.assign(static_cast<std::size_t>(vocab) + 1, 0);
  for (const token_t token : tokens) ++first[static_cast<std::size_t>(token) + 1];
  for (std::size_t v = 1; v < first.size(); ++v) first[v] += first[v - 1];

  scratch.next_place.assign(first.begin(), first.end() - 1);
  scratch.rows_by_token.resize(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    dim_t& place = scratch.next_place[static_cast<std::size_t>(tokens[i])];
    scratch.rows_by_token[static_cast<std::size_t>(place++)] = static_cast<dim_t>(i);
  }
}

}  // namespace

Embedding::Embedding(ParameterTable& table, const std::string& prefix, dim_t vocab, dim_t width,
                     float deviation)
    : weight_(table.add_matrix(prefix + "weight", vocab, width, Init::normal(deviation))) {}

void Embedding::forward(Weights weights, std::span<const token_t> tokens, MatrixF y) const {
  const ConstMatrixF table = weights(weight_);
  parallel_ranges(y.rows, kRowsPerTask, [&](dim_t begin, dim_t end) {
    for (dim_t i = begin; i < end; ++i) {
      std::copy_n(table.row(tokens[static_cast<std::size_t>(i)]), y.cols, y.row(i));
    }
  });
}

void Embedding::backward(std::span<const token_t> tokens, ConstMatrixF dy,
                         EmbeddingScratch& scratch, Gradients gradients) const {
  sort_rows_by_token(tokens, vocab(), scratch);
  const MatrixF d_table = gradients(weight_);
  const auto& first = scratch.first_row_of_token;
  parallel_ranges(vocab(), kTokensPerTask, [&](dim_t begin, dim_t end) {
    for (dim_t v = begin; v < end; ++v) {
      float* sum = d_table.row(v);
      for (dim_t k = first[static_cast<std::size_t>(v)]; k < first[static_cast<std::size_t>(v) + 1];
           ++k) {
        add_row(dy.row(scratch.rows_by_token[static_cast<std::size_t>(k)]), dy.cols, sum);
      }
    }
  });
}

}  // namespace dsf
