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

HeadResult SoftmaxHead::forward_backward(Weights weights, ConstMatrixF h,
                                         std::span<const token_t> targets, float scale,
                                         SoftmaxHeadScratch& scratch, MatrixF dh,
                                         Gradients gradients) {
  return sum_over_chunks(
      h.rows, targets, scratch,
      [&](dim_t begin, dim_t count, std::span<const token_t> chunk_targets) {
        const ConstMatrixF h_chunk = h.middle_rows(begin, count);
        const MatrixF dh_chunk = dh.middle_rows(begin, count);
        const MatrixF logits = scratch.logits.reshape(count, linear_.out());
        const CrossEntropy goal = {.targets = chunk_targets,
                                   .scale = scale,
                                   .loss = scratch.loss,
                                   .correct = scratch.correct,
                                   .bias = linear_.bias(weights)};
        linear_.multiply(weights, h_chunk, scratch.linear, logits);
        const MatrixF sums =
            scratch.gradient_sums.reshape(ceil_div(count, kGradientGroup), linear_.out());
        OperandView gradient = logits;
        if (weights.precision() == Precision::f32) {
          softmax_cross_entropy(logits, goal, sums);
        } else {
          // Rows of whole cache lines: products read pairs where they lie, whatever the vocabulary.
          constexpr dim_t kLine = 32;
          const dim_t stride = round_up(linear_.out(), kLine);
          scratch.gradient.ensure(count * stride);
          const MatrixView<bf16_t> rounded(scratch.gradient.data(), count, linear_.out(), stride);
          softmax_cross_entropy(logits, goal, rounded, sums);
          gradient = MatrixView<const bf16_t>(rounded);
        }
        linear_.backward(h_chunk, gradient, sums, scratch.linear, dh_chunk, gradients);
      });
}

HeadResult SoftmaxHead::evaluate(Weights weights, ConstMatrixF h, std::span<const token_t> targets,
                                 SoftmaxHeadScratch& scratch) {
  return sum_over_chunks(h.rows, targets, scratch,
                         [&](dim_t begin, dim_t count, std::span<const token_t> chunk_targets) {
                           const MatrixF logits = scratch.logits.reshape(count, linear_.out());
                           linear_.forward(weights, h.middle_rows(begin, count), scratch.linear,
                                           logits);
                           cross_entropy(logits, chunk_targets, scratch.loss, scratch.correct);
                         });
}

void SoftmaxHead::logits(Weights weights, ConstMatrixF h, SoftmaxHeadScratch& scratch,
                         MatrixF logits) {
  linear_.forward(weights, h, scratch.linear, logits);
}

}  // namespace dsf
