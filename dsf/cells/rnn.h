#pragma once

#include "dsf/cells/single_product_cell.h"

namespace dsf {

/// h = tanh(W x + b_ih + U h_{t-1} + b_hh)
class RnnCell final : public SingleProductCell {
 public:
  RnnCell(dim_t input, dim_t hidden)
      : SingleProductCell({.input = input, .hidden = hidden, .state = hidden, .tape = hidden}) {}

 private:
  void pack_recurrent(JacobianUse use) override;
  void forward_gates(const ForwardRows& rows) const override;
  void backward_gates(const BackwardRows& rows) const override;
  void add_diagonal_part(float sign, const BackwardRows& rows) const override;

  Buffer<float> diagonal_;  // of U [D]
};

}  // namespace dsf
