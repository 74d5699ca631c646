#pragma once

#include "dsf/feedback/feedback.h"

namespace dsf {

/// Back-propagation through time:  g_t = e_t + g_{t+1} J_{t+1}   (paper, eq. 11)
///
///   RestPath::all        exactly
///   RestPath::candidate  J with the gates held at their values: of U only the candidate's block
///   rank > 0             J with matrices of that rank in the place of U's
class BpttFeedback final : public Feedback {
 public:
  explicit BpttFeedback(RestPath path = RestPath::all, dim_t rank = 0) : path_(path), rank_(rank) {}

  void run(const PackedLayout& layout, BackwardAccess& cell, FeedbackWorkspace& work,
           MatrixF g) override;
  StateProductUse state_products() const override { return state_products_by(path_, rank_); }

 private:
  RestPath path_;
  dim_t rank_;
};

}  // namespace dsf
