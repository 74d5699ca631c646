#include "dsf/layers/softmax_head.h"

#include "dsf/kernels/softmax.h"
#include "dsf/layers/chunk_rows.h"

namespace dsf {
namespace {

/// Runs `body(first row, rows, targets)` over the chunks and adds up what it left in the scratch.
template <typename Body>
HeadResult sum_over_chunks(dim_t rows, std::span<const token_t> targets,
                           SoftmaxHeadScratch& scratch, Body&& body) {
  HeadResult sum;
  for_each_chunk(rows, [&](dim_t begin, dim_t count) {
    scratch.loss.resize(static_cast<std::size_t>(count));
    scratch.correct.resize(static_cast<std::size_t>(count));
    body(begin, count,
         targets.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)));
    for (const float loss : scratch.loss) sum.loss += static_cast<double>(loss);
    for (const std::uint8_t hit : scratch.correct) sum.correct += hit;
  });
  return sum;
}

}  // namespace

HeadResult SoftmaxHead::forward_backward(ConstMatrixF h, std::span<const token_t> targets,
                                         float scale, SoftmaxHeadScratch& scratch, MatrixF dh,
                                         Gradients gradients) const {
  return sum_over_chunks(h.rows, targets, scratch,
                         [&](dim_t begin, dim_t count, std::span<const token_t> chunk_targets) {
                           const ConstMatrixF h_chunk = h.middle_rows(begin, count);
                           const MatrixF logits = scratch.logits.reshape(count, linear_.out());
                           linear_.multiply(h_chunk, scratch.linear, logits);
                           softmax_cross_entropy(logits, chunk_targets, scale, scratch.loss,
                                                 scratch.correct, linear_.bias());
                           linear_.backward(h_chunk, logits, scratch.linear,
                                            dh.middle_rows(begin, count), gradients);
                         });
}

HeadResult SoftmaxHead::evaluate(ConstMatrixF h, std::span<const token_t> targets,
                                 SoftmaxHeadScratch& scratch) const {
  return sum_over_chunks(h.rows, targets, scratch,
                         [&](dim_t begin, dim_t count, std::span<const token_t> chunk_targets) {
                           const MatrixF logits = scratch.logits.reshape(count, linear_.out());
                           linear_.forward(h.middle_rows(begin, count), scratch.linear, logits);
                           cross_entropy(logits, chunk_targets, scratch.loss, scratch.correct);
                         });
}

void SoftmaxHead::logits(ConstMatrixF h, SoftmaxHeadScratch& scratch, MatrixF logits) const {
  linear_.forward(h, scratch.linear, logits);
}

}  // namespace dsf
