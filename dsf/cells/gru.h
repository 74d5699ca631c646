#pragma once

// The GRU in its two variants. Equations, and what lies where on the tape [N, 4D]:
// dsf/kernels/gates_gru.h. They differ in what the candidate's rows of U multiply: h_{t-1}, or
// r h_{t-1}, which is known only after the gates.

#include "dsf/cells/cell.h"
#include "dsf/kernels/gates_gru.h"

namespace dsf {

class GruCell : public Cell {
 protected:
  GruCell(dim_t input, dim_t hidden, bool finishes_d)
      : Cell({.input = input,
              .hidden = hidden,
              .gates = gru_gate::count,
              .state = hidden,
              .tape = gru_tape::count * hidden,
              .first_gate = gru_gate::candidate,
              .finishes_d = finishes_d}) {}

  ConstMatrixF U_rz() const { return weights().U.middle_rows(0, 2 * shape().hidden); }
  ConstMatrixF U_n() const { return weights().U.middle_rows(2 * shape().hidden, shape().hidden); }
};

class GruResetAfterCell final : public GruCell {
 public:
  GruResetAfterCell(dim_t input, dim_t hidden) : GruCell(input, hidden, false) {}

 private:
  void pack_recurrent(JacobianUse use) override;
  void forward_step(const ForwardRows& rows) const override;
  void backward_gates(const BackwardRows& rows) const override;
  void add_recurrent_product(const BackwardRows& rows, ProductScratch& scratch) const override;
  void recurrent_gradients(const GradientOperands& operands,
                           const CellGradients& gradients) const override;

  PackedWeights forward_;     // U^T [D, 3D]
  FactoredWeights backward_;  // U [3D, D], or thin factors of U_rz and U_n
};

class GruResetBeforeCell final : public GruCell {
 public:
  GruResetBeforeCell(dim_t input, dim_t hidden) : GruCell(input, hidden, true) {}

 private:
  void pack_recurrent(JacobianUse use) override;
  void forward_step(const ForwardRows& rows) const override;
  void backward_gates(const BackwardRows& rows) const override;
  void finish_local_backward(const BackwardRows& rows, ProductScratch& scratch) const override;
  void add_recurrent_product(const BackwardRows& rows, ProductScratch& scratch) const override;
  void recurrent_gradients(const GradientOperands& operands,
                           const CellGradients& gradients) const override;

  PackedWeights forward_rz_;     // U_rz^T [D, 2D]
  PackedWeights forward_n_;      // U_n^T [D, D]
  PackedWeights backward_n_;     // U_n [D, D]
  FactoredWeights backward_rz_;  // U_rz [2D, D]
};

}  // namespace dsf
