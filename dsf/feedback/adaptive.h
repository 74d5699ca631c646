#pragma once

#include "dsf/base/buffer.h"
#include "dsf/feedback/bptt.h"
#include "dsf/feedback/diagonal.h"

namespace dsf {

/// DSF with the diagonal that is closest to the cell's Jacobian on the gradients it meets: the
/// paper's "adaptive feedback matrices". Some batches go back by BPTT, so they train exactly, and
/// each unit's a_j is fitted to them by least squares,
///
///   a_j = sum (g_t - e_t)_j (g_{t+1})_j / sum (g_{t+1})_j^2,   cut to [-1, 1]
///
/// over all steps of the batches seen so far, older ones counting half with each refit; all other
/// batches go back by the diagonal.
class AdaptiveFeedback final : public Feedback {
 public:
  /// Which batches go back exactly: the first `calibration`, and from then on every
  /// `refit_every`-th; 0: none, so that the diagonal is fitted once.
  struct Schedule {
    dim_t calibration = 1;
    dim_t refit_every = 0;
  };

  AdaptiveFeedback(dim_t state_size, DiagonalForm form, Schedule schedule);

  void run(BackwardPass& pass) override;
  JacobianUse jacobian_use() const override { return exact_.jacobian_use(); }
  /// The errors, and the scan's.
  dim_t workspace_numbers(const GradientShape& g) const override {
    return g.size() + scan_.workspace_numbers(g);
  }
  /// diagonal [S] = a, the two sums [S], and counters: of calibration batches done, and of batches
  /// since the last exact one, so that a resumed run goes on with the same batch.
  std::vector<NamedBuffer> buffers() override;

 private:
  bool calibrating() const;
  bool exact_batch_is_due() const;
  void count_batch();
  void fit(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF exact);
  void set_diagonal(dim_t j, float products, float squares);

  Schedule schedule_;
  BpttFeedback exact_;
  DiagonalFeedback scan_;
  Buffer<float> products_;
  Buffer<float> squares_;
  Buffer<float> counters_;
  Matrix errors_;  // [N, S]: e of an exact batch
};

}  // namespace dsf
