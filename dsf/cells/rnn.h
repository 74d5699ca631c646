#pragma once

#include "dsf/cells/single_product_cell.h"
#include "dsf/kernels/gates_rnn.h"

namespace dsf {

/// h = f(W x + b_ih + U h_{t-1} + b_hh),   f: tanh or relu
class RnnCell final : public SingleProductCell {
 public:
  RnnCell(dim_t input, dim_t hidden, Nonlinearity f = Nonlinearity::tanh)
      : SingleProductCell({.input = input,
                           .hidden = hidden,
                           .state = hidden,
                           .tape = hidden,
                           .reads_gates = false}),
        f_(f) {}

 private:
  void pack_recurrent(JacobianUse use) override;
  void forward_gates(const ForwardRows& rows) const override;
  void backward_gates(const BackwardRows& rows) const override;
  void add_diagonal_part(float sign, const BackwardRows& rows) const override;

  Nonlinearity f_;
  Buffer<float> diagonal_;  // of U [D]
};

}  // namespace dsf
