#pragma once

// A recurrent layer on its way back through one batch: what a feedback sees of it.
//
//   J_t = D_t + R_t = ds_t / ds_{t-1}
//
//   D_t, the diagonal part: what each unit sends to itself, elementwise
//     gru   z
//     lstm  c_{t-1} -> c_t, h_t: f and f o (1 - tanh(c)^2); from h_{t-1} there is none
//     rnn   (1 - h^2) u_jj: it has no gate, so its own recurrent weight is taken
//   R_t, the off-diagonal part: the rest, a product by U

#include <functional>

#include "dsf/base/packed_layout.h"
#include "dsf/cells/cell.h"

namespace dsf {

/// Joins a cell, the layout of a batch, the tape of its forward pass and the gradients g. It cuts
/// the batch into slices, owns their scratch memory and does the local backward of every row exactly
/// once: a feedback calls local_backward() or one of the walks, once, as its last act. The layer makes
/// one for each batch.
class BackwardPass {
 public:
  /// Adds to g_previous [n, S] what is carried to it from g_t [n, S]. Called from several threads at
  /// once, each with rows of its own.
  using Carry = std::function<void(ConstMatrixF g_t, MatrixF g_previous)>;
  /// The same with diagonal [n, S] = g_t D_t, which has not been added to g_previous yet.
  using DiagonalCarry =
      std::function<void(ConstMatrixF g_t, ConstMatrixF diagonal, MatrixF g_previous)>;

  /// x [N, I] as in the forward pass that filled `tape`; g [N, S] holds the errors e. `initial`
  /// [B, S], or empty: accumulates the gradient of the initial states. Throws Error if the tape is
  /// not of this batch. All of them outlive the pass.
  BackwardPass(const Cell& cell, const PackedLayout& layout, ConstMatrixF x, const CellTape& tape,
               CellWork& work, MatrixF g, MatrixF initial);

  const PackedLayout& layout() const { return layout_; }
  /// [N, S]: e at first. A feedback that calls local_backward() leaves the total gradient there; the
  /// walks do it themselves.
  MatrixF g() const { return g_; }
  /// [B, S] or empty: g of the states before step 0. The walks add to it; a feedback that does not
  /// walk adds what it carries from step 0 itself.
  MatrixF initial() const { return initial_; }

  /// Local backward of all rows at once, in parallel: g is final everywhere.
  void local_backward();

  // The walks: from the last step to the first, slices of the batch in parallel; at each step the
  // local backward of its rows, then g_{t-1} is added to.

  /// g_{t-1} += what `carry` adds.
  void walk(const Carry& carry);
  /// g_{t-1} += g_t D_t
  void walk_diagonal();
  /// g_{t-1} += what `carry` makes of g_t and g_t D_t.
  void walk_diagonal(const DiagonalCarry& carry);
  /// g_{t-1} += g_t J_t, through U itself or through the thin factors of it that prepare() was asked
  /// for. Only after prepare() with a JacobianUse.
  void walk_jacobian();

  /// walk_diagonal of other numbers g [N, S] without the local backward, and then the off-diagonal
  /// part of what each step sends back, for all rows by large products:  off_diagonal [N, S]
  /// overwritten: row (t, b) is g_t R_t. As often as needed, before the last act; only after
  /// prepare() with a JacobianUse.
  void trial_walk(MatrixF g, MatrixF off_diagonal);

 private:
  using Rows = Cell::BackwardRows;
  enum class Diagonal { left_out, added };

  Rows rows_at(dim_t begin, dim_t count) const;
  /// The rows of a step, with their part of `g` and that of the step before.
  Rows step_rows(StepRows rows, MatrixF g, MatrixF initial) const;
  /// Memory and threads of one slice's products.
  ProductScratch& scratch_of(dim_t slice) const;
  /// backward_gates and, if that is asked for, g_{t-1} += g_t D_t. What is rounded at once is not
  /// written to tape.d.
  void backward_rows(const Rows& rows, Diagonal diagonal = Diagonal::left_out) const;
  void finish_local_backward();
  /// One step at a time by slices without a matrix product, `step(StepRows)`.
  void walk_elementwise(const std::function<void(StepRows)>& step) const;

  const Cell& cell_;
  const PackedLayout& layout_;
  const CellTape& tape_;
  CellWork& work_;
  ConstMatrixF previous_;       // [N, S]: s_{t-1}
  MatrixView<bf16_t> rounded_;  // [N, C]: d, or empty if it is not rounded at once
  MatrixF g_;
  MatrixF initial_;
};

}  // namespace dsf
