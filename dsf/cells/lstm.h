#pragma once

#include "dsf/cells/single_product_cell.h"
#include "dsf/kernels/gates_lstm.h"

namespace dsf {

/// The LSTM (equations in dsf/kernels/gates_lstm.h). State and output are [h, c], 2D wide.
class LstmCell final : public SingleProductCell {
 public:
  LstmCell(dim_t input, dim_t hidden)
      : SingleProductCell({.input = input,
                           .hidden = hidden,
                           .gates = lstm_gate::count,
                           .state = 2 * hidden,
                           .tape = lstm_gate::count * hidden}) {}

 private:
  void forward_gates(const ForwardRows& rows) const override;
  void backward_gates(const BackwardRows& rows) const override;
};

}  // namespace dsf
