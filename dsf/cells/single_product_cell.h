#pragma once

// What the cells share whose gates all take the same product U h_{t-1} (rnn, lstm), so that d is
// the gradient of that product as well as of W x.

#include "dsf/cells/cell.h"

namespace dsf {

class SingleProductCell : public Cell {
 public:
  using Cell::Cell;

 private:
  void pack_recurrent(StateProductUse use) final;
  void forward_step(const ForwardRows& rows) const final;
  void add_recurrent_product(const BackwardRows& rows, ProductScratch& scratch) const final;
  void add_candidate_product(ConstMatrixF d, ProductScratch& scratch,
                             MatrixF g_previous) const final;
  ConstMatrixF candidate_d(const BackwardRows& rows) const final;
  void add_own_product(float sign, const BackwardRows& rows) const final;
  void recurrent_gradients(const GradientOperands& operands, CellWork& work,
                           const CellGradients& gradients) const final;

  /// The rest of a forward step, when rows.recurrent holds U h_{t-1}.
  virtual void forward_gates(const ForwardRows& rows) const = 0;
  /// Which of the K blocks of U is the candidate's.
  virtual dim_t candidate() const = 0;

  PackedWeights recurrent_forward_;         // U^T [D, K D]
  StateProductWeights recurrent_backward_;  // U [K D, D]
  StateProductWeights candidate_backward_;  // the candidate's block of U [D, D]
};

}  // namespace dsf
