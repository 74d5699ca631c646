#pragma once

#include "dsf/cells/single_product_cell.h"

namespace dsf {

/// h = tanh(W x + b_ih + U h_{t-1} + b_hh)
class RnnCell final : public SingleProductCell {
 public:
  RnnCell(dim_t input, dim_t hidden) : SingleProductCell({input, hidden, 1, hidden}) {}

 private:
  bool has_gate_path() const override { return false; }
  void forward_gates(const ForwardRows& rows) const override;
  void backward_gates(const BackwardRows& rows) const override;
  void backward_candidate(const BackwardRows& rows) const override { backward_gates(rows); }
  dim_t candidate() const override { return 0; }
};

}  // namespace dsf
