#pragma once

#include <span>
#include <utility>

#include "dsf/feedback/diagonal.h"
#include "dsf/feedback/exact_batches.h"

namespace dsf {

/// DSF with a diagonal that is learned. The batches of a schedule go back as BPTT's, so they train
/// exactly, and what they show is learned from; all others go back by the diagonal. How to learn is
/// one small file: fitted.h, learned.h.
class LearningDiagonal : public Feedback {
 public:
  /// `a`: the S numbers to start from.
  LearningDiagonal(Buffer<float> a, DiagonalForm form, FitSchedule schedule)
      : scan_(std::move(a), form), exact_batches_(schedule) {}

  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) final;
  StateProductUse state_products() const final { return {.all = true}; }
  /// errors, and the scan's.
  dim_t workspace_numbers(const GradientShape& g) const final {
    return g.size() + scan_.workspace_numbers(g);
  }

 protected:
  /// Columns of one task of what is learned column by column: a cache line of every row.
  static constexpr dim_t kColumns = 16;

  /// a [S].
  std::span<float> diagonal() { return scan_.diagonal(); }
  /// a_j = next, cut to [-1, 1]; stays where `next` is not finite: training may skip such a batch,
  /// and could not if it left a trace here.
  void set_diagonal(dim_t j, double next);
  ExactBatches& exact_batches() { return exact_batches_; }

 private:
  /// errors [N, S] = e and exact [N, S] = BPTT's g, of the batch at hand.
  virtual void learn(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact) = 0;

  DiagonalFeedback scan_;
  ExactBatches exact_batches_;
};

}  // namespace dsf
