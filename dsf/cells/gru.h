#pragma once

// The GRU in its two variants (equations in dsf/kernels/gates_gru.h). They differ in what the
// candidate's rows of U multiply, so U is used in two blocks: U_rz [2D, D] and U_n [D, D].
//
//                 extra                 d_extra                   d(U_n product)   U_n multiplies
//   reset after   U_n h_{t-1} + b_hh    r d_n, in extra's place   r d_n            h_{t-1}
//   reset before  r h_{t-1}             d_n U_n                   d_n              r h_{t-1}

#include "dsf/cells/cell.h"
#include "dsf/kernels/gates_gru.h"

namespace dsf {

class GruCell : public Cell {
 protected:
  GruCell(dim_t input, dim_t hidden, dim_t d_extra)
      : Cell({input, hidden, gru_gate::count, hidden, hidden, d_extra}) {}

  ConstMatrixF U_rz() const { return weights().U.middle_rows(0, 2 * shape().hidden); }
  ConstMatrixF U_n() const { return weights().U.middle_rows(2 * shape().hidden, shape().hidden); }
  /// Columns of gates, or of d.
  template <typename T>
  MatrixView<T> rz_of(MatrixView<T> gates) const {
    return gates.middle_cols(0, 2 * shape().hidden);
  }
  template <typename T>
  MatrixView<T> n_of(MatrixView<T> gates) const {
    return gates.middle_cols(2 * shape().hidden, shape().hidden);
  }
  /// dU of the gates r and z, whose products both variants have in common.
  void gate_gradients(const GradientOperands& operands, const CellWork& work,
                      const CellGradients& gradients) const;
};

class GruResetAfterCell final : public GruCell {
 public:
  GruResetAfterCell(dim_t input, dim_t hidden) : GruCell(input, hidden, 0) {}

 private:
  void pack_recurrent(StateProductUse use) override;
  void forward_step(const ForwardRows& rows) const override;
  void backward_gates(const BackwardRows& rows) const override;
  void add_recurrent_product(const BackwardRows& rows, ProductScratch& scratch) const override;
  void add_candidate_product(ConstMatrixF d, ProductScratch& scratch,
                             MatrixF g_previous) const override;
  ConstMatrixF candidate_d(const BackwardRows& rows) const override { return rows.d_extra; }
  void backward_candidate(const BackwardRows& rows) const override;
  void add_own_product(float sign, const BackwardRows& rows) const override;
  void recurrent_gradients(const GradientOperands& operands, CellWork& work,
                           const CellGradients& gradients) const override;

  PackedWeights forward_;                   // U^T [D, 3D]
  StateProductWeights recurrent_backward_;  // U_rz [2D, D], U_n [D, D]
  StateProductWeights candidate_backward_;  // U_n
};

class GruResetBeforeCell final : public GruCell {
 public:
  GruResetBeforeCell(dim_t input, dim_t hidden) : GruCell(input, hidden, hidden) {}

 private:
  void pack_recurrent(StateProductUse use) override;
  void forward_step(const ForwardRows& rows) const override;
  void backward_gates(const BackwardRows& rows) const override;
  bool finishes_by_product() const override { return true; }
  void finishing_product(ConstMatrixF d, OperandScratch& operand, MatrixF d_extra) const override;
  void finish_gates(const BackwardRows& rows) const override;
  void add_recurrent_product(const BackwardRows& rows, ProductScratch& scratch) const override;
  void add_candidate_product(ConstMatrixF d, ProductScratch& scratch,
                             MatrixF g_previous) const override;
  void backward_candidate(const BackwardRows& rows) const override;
  bool scales_candidate_product() const override { return true; }
  void scale_candidate_product(const BackwardRows& rows) const override;
  void add_own_product(float sign, const BackwardRows& rows) const override;
  void recurrent_gradients(const GradientOperands& operands, CellWork& work,
                           const CellGradients& gradients) const override;

  PackedWeights forward_rz_;                // U_rz^T [D, 2D]
  PackedWeights forward_n_;                 // U_n^T [D, D]
  PackedWeights backward_n_;                // U_n [D, D]
  StateProductWeights recurrent_backward_;  // U_rz [2D, D]
};

}  // namespace dsf
