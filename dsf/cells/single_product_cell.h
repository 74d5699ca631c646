#pragma once

// What the cells share whose gates all take the same product U h_{t-1} (rnn, lstm), so that d is
// the gradient of that product as well as of W x.

#include "dsf/cells/cell.h"

namespace dsf {

class SingleProductCell : public Cell {
 public:
  using Cell::Cell;

 protected:
  void pack_recurrent(JacobianUse use) override;

 private:
  void forward_step(const ForwardRows& rows) const final;
  void add_recurrent_product(const BackwardRows& rows, ProductScratch& scratch) const final;
  void recurrent_gradients(const GradientOperands& operands,
                           const CellGradients& gradients) const final;

  /// The rest of a forward step, when rows.recurrent holds U h_{t-1}.
  virtual void forward_gates(const ForwardRows& rows) const = 0;

  PackedWeights recurrent_forward_;     // U^T [D, K D]
  FactoredWeights recurrent_backward_;  // U [K D, D]
};

}  // namespace dsf
