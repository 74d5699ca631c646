#pragma once

#include <limits>
#include <utility>

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// BPTT's equation solved by splitting J = D + R (D: OwnPath::gates) and iterating,
///
///   g^(0) = scan(e),   g^(i) = scan(e + g^(i-1) R),   scan: g_t = (.)_t + g_{t+1} D_{t+1}
///
/// k times, k >= 1. g^(0) is `gated`. g^(i) is exact on the last i + 1 steps of each sequence, so
/// k >= T - 1 is BPTT.
///
/// g^(i)_t needs nothing before step t, so a few steps (a span) go through all corrections before
/// the steps before them begin, and their gates are read from memory once. A correction of a span
/// is one elementwise walk and one matrix product over all its rows (the GRU: two, its U in two
/// blocks), whatever the batch.
///
/// With RestPath::candidate R is the part of it that leaves the gates at their values: a third of the
/// product for the GRU, a quarter for the LSTM. Then k >= T - 1 is BPTT of a cell whose gates do not
/// depend on h_{t-1}.
///
/// With a window of w steps every w-th step's g^(k) is final before the steps before it begin, and
/// all their guesses start from it:  g^(i)_t = g^(k)_t  where t + 1 is a multiple of w. So a window of
/// one step is BPTT, and one of T steps or more changes nothing.
///
/// With numbers `a` the first guess holds more: g^(0) = scan of D + a (1 - D), which is `gated:dsf`.
/// What a correction then sends from unit to unit comes from further ahead in time than the gates
/// alone would let it. Where the corrections end stays the same.
class IteratedFeedback final : public Feedback {
 public:
  struct Options {
    dim_t corrections = 1;          ///< k
    RestPath path = RestPath::all;  ///< R
    dim_t window = kWholeSequence;  ///< w
  };
  static constexpr dim_t kWholeSequence = std::numeric_limits<dim_t>::max();

  /// `a`: S numbers in [0, 1], or none.
  explicit IteratedFeedback(const Options& options, Buffer<float> a = {})
      : options_(options), a_(std::move(a)) {}

  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;
  StateProductUse state_products() const override { return state_products_by(options_.path); }
  dim_t trial_slots(dim_t batch) const override;
  dim_t workspace_numbers(const GradientShape& g) const override;
  std::vector<NamedBuffer> buffers() override;

 private:
  Options options_;
  Buffer<float> a_;
};

}  // namespace dsf
