#pragma once

// A recurrent cell over a packed batch.
//
//   T steps, B sequences, N rows = tokens of the batch, I inputs, D hidden units, K gates,
//   S state size (D; 2D for the LSTM, whose state is [h, c]), C columns of the tape (K D or more)
//
//   forward         s_t = f(x_t, s_{t-1})
//   local backward  g_t -> d_t, the gradient of the pre-activations, s_{t-1} held constant
//   Jacobian        g_{t-1} += g_t J_t,   J_t = ds_t / ds_{t-1}
//   parameters      dX = d W,  dW = d^T X,  dU = d^T H_{t-1},  db = sum of d: all N rows at once
//
// The base class owns what all cells share: the walk forward, the GEMMs over all rows, the tape. The
// way back through time is BackwardPass (backward_pass.h). A cell adds its gates. Parameters have
// PyTorch's shapes, gate order and two biases.

#include <memory>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/base/packed_layout.h"
#include "dsf/cells/cell_kind.h"
#include "dsf/kernels/factored_weights.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/packed_weights.h"

namespace dsf {

/// What of the weights the passes multiply by: prepare() packs nothing else.
struct PassUse {
  bool forward = true;
  bool input_gradient = true;
  /// Rows of all products with one matrix together: of few, packing does not pay.
  dim_t rows = PackedWeights::kManyRows;
};

/// Whether a feedback multiplies by the Jacobian, so that U is packed for it.
struct JacobianUse {
  static constexpr dim_t kQuarterOfWidth = -1;

  bool needed = false;
  bool trial = false;  ///< BackwardPass::trial_walk is called, which keeps d of all rows
  /// Of thin factors that take the place of U's blocks: 0 is U itself, kQuarterOfWidth D / 4.
  dim_t rank = 0;
};

/// The sizes of a cell, in the letters of the equations.
struct CellShape {
  dim_t input = 0;   ///< I
  dim_t hidden = 0;  ///< D
  dim_t gates = 1;   ///< K
  dim_t state = 0;   ///< S
  /// C. The first K D columns of the tape belong to W x; a cell may keep more behind them.
  dim_t tape = 0;
  /// The gate whose columns come first on the tape; the others follow in PyTorch's order and wrap
  /// around, so that [n, r, z] is the GRU's order with n first.
  dim_t first_gate = 0;
  bool reads_gates = true;  ///< on the way back; otherwise the states say everything
  bool finishes_d = false;  ///< by finish_local_backward

  dim_t gate_columns() const { return gates * hidden; }
  /// A cache line more than C: rows whose places differ by a power of two share the cache's sets.
  dim_t tape_stride() const { return tape + kTapeGap; }
  static constexpr dim_t kTapeGap = 16;
};

/// Values of the parameters; they must stay in place until the next prepare().
struct CellWeights {
  ConstMatrixF W;               ///< weight_ih [K D, I]
  ConstMatrixF U;               ///< weight_hh [K D, D]
  const float* b_ih = nullptr;  ///< [K D], or null for zeros
  const float* b_hh = nullptr;  ///< [K D], or null for zeros
};

/// Gradients of the parameters, same shapes; null: nobody asks for that of the bias.
struct CellGradients {
  MatrixF W;
  MatrixF U;
  float* b_ih = nullptr;
  float* b_hh = nullptr;
};

/// Memory of a pass through one layer, reused from step to step: everything grows to the largest
/// batch and stays.
struct CellWork {
  Matrix gates;  ///< [N, C] in rows of tape_stride(): for a tape that has no memory of its own

  Matrix recurrent;                      ///< [., K D]: U h of the rows that a task works on
  Matrix rebuilt;                        ///< [., S]: their states, if the gates are rebuilt
  Matrix gathered;                       ///< [N, S]: s_{t-1}, if lengths differ
  Matrix trial;                          ///< [N, C]: d of BackwardPass::trial_walk
  Buffer<float> column_sums;             ///< [C]: of d
  Buffer<float> partial_sums;            ///< of the column sums
  std::vector<ProductScratch> products;  ///< one per task
  OperandScratch w_operand;
  OperandScratch x_operand;
  OperandScratch d_operand;
  OperandScratch h_operand;
};

/// Scratch memory for `tasks` tasks' products at least.
void ensure_products(dim_t tasks, CellWork& work);

/// What backward reads of a layer's forward pass. The memory is the caller's.
struct CellTape {
  MatrixF states;  ///< [B + N, S]: the initial states, then those of all rows
  MatrixF gates;   ///< [N, C] in rows of tape_stride(): W x, then the gates
  /// [N, C] in such rows, backward's: gradients of the pre-activations. If it is `gates` itself,
  /// backward uses the tape up, as the GRU that resets before must. The others round d at once in
  /// bf16, and do not write it here.
  MatrixF d;
  bool gates_are_lost = false;  ///< backward rebuilds them from the states

  /// Views of memory that grows as needed, for a batch whose backward pass uses the tape up.
  static CellTape in(Matrix& states, Matrix& gates, const CellShape& shape,
                     const PackedLayout& layout);
};

/// One recurrent cell and its packed weights. A pass changes the tape and gradients of its caller,
/// never the cell. To add a kind, derive and implement the private hooks: docs/extending.md.
class Cell {
 public:
  explicit Cell(CellShape shape) : shape_(shape) {}
  virtual ~Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  const CellShape& shape() const { return shape_; }

  /// Converts and packs the weights, once after every change. `use`: whether, and how, the feedback
  /// multiplies by the Jacobian.
  void prepare(const CellWeights& weights, Precision precision, JacobianUse use,
               const PassUse& passes = {});

  /// x [N, I], y overwritten: [N, S], or narrower for the first columns of the states alone. `state`
  /// [B, S]: in the initial states, out the last ones; an empty view starts from zero and returns
  /// nothing.
  void forward(const PackedLayout& layout, ConstMatrixF x, MatrixF state, const CellTape& tape,
               CellWork& work, MatrixF y) const;

  /// After a BackwardPass has done the local backward of all rows: dx [N, I] overwritten, may be x
  /// itself, or empty if nobody asks for it; gradients `into`.
  void parameter_gradients(const PackedLayout& layout, ConstMatrixF x, const CellTape& tape,
                           CellWork& work, MatrixF dx, Into into,
                           const CellGradients& gradients) const;

 protected:
  /// The rows of one slice at one step, n of them.
  struct ForwardRows {
    ConstMatrixF previous;    ///< [n, S] in: s_{t-1}
    MatrixF recurrent;        ///< [n, K D] scratch
    MatrixF gates;            ///< [n, C] in: W x in the first K D columns; out: what backward reads
    MatrixF state;            ///< [n, S] out: s_t
    OperandScratch* operand;  ///< scratch for GEMM operands
  };
  /// Any n rows on their way back.
  struct BackwardRows {
    ConstMatrixF g;                   ///< [n, S] in
    ConstMatrixF previous;            ///< [n, S] in: s_{t-1}
    ConstMatrixF state;               ///< [n, S] in: s_t
    ConstMatrixF gates;               ///< [n, C] in
    MatrixF d;                        ///< [n, C] out: d; may be the same memory as `gates`
    MatrixF g_previous;               ///< [n, S] accumulated into; empty if nobody asks for it
    MatrixView<bf16_t> rounded = {};  ///< [n, C] out: d in bf16, if it is rounded at once
    OperandView d_operand() const { return rounded.empty() ? OperandView(d) : rounded; }
  };
  /// All N rows, as operands in the GEMMs' precision.
  struct GradientOperands {
    OperandView d;             ///< [N, C]
    OperandView h_previous;    ///< [N, D]
    const float* column_sums;  ///< [C]: of d
    Into into;
  };
  /// db = or += sums, unless it is null.
  static void put_row(const float* sums, dim_t n, Into into, float* db);

  Precision precision() const { return precision_; }
  const PassUse& passes() const { return passes_; }
  const CellWeights& weights() const { return weights_; }
  /// The h of rows of states or of their gradients: the first D columns.
  template <typename T>
  MatrixView<T> h_of(MatrixView<T> state) const {
    return state.middle_cols(0, shape_.hidden);
  }
  /// `count` gates' columns of rows of the tape, from gate `gate` on, in the tape's order.
  template <typename T>
  MatrixView<T> gates_of(MatrixView<T> tape, dim_t gate, dim_t count) const {
    return tape.middle_cols(gate * shape_.hidden, count * shape_.hidden);
  }
  OperandView gates_of(const OperandView& tape, dim_t gate, dim_t count) const {
    return tape.block(0, tape.rows, gate * shape_.hidden, count * shape_.hidden);
  }

 private:
  friend class BackwardPass;

  // The hooks of a cell. J_t = D_t + R_t: D_t is the diagonal part, by which each unit acts on
  // itself, so that an elementwise walk can follow it; R_t, the rest, needs a product by U. The
  // gates carry D_t (gru: z; lstm: f); a cell without such a path takes it from U's own diagonal.

  /// Packs U for forward_step and, if it is used, for add_recurrent_product.
  virtual void pack_recurrent(JacobianUse use) = 0;
  virtual void forward_step(const ForwardRows& rows) const = 0;
  /// The elementwise part of g -> d and, if g_previous is given, of g_{t-1} += g_t J_t.
  virtual void backward_gates(const BackwardRows& rows) const = 0;
  /// What is left of g -> d (and of g_{t-1}) if that needs a matrix product: the GRU that resets
  /// before. `scratch` is this call's alone.
  virtual void finish_local_backward(const BackwardRows& /*rows*/,
                                     ProductScratch& /*scratch*/) const {}
  /// g_{t-1} += d U, d by d_operand(): the way back through the pre-activations.
  virtual void add_recurrent_product(const BackwardRows& rows, ProductScratch& scratch) const = 0;
  /// g_{t-1} += sign g_t D_t, if D_t is not part of backward_gates.
  virtual void add_diagonal_part(float /*sign*/, const BackwardRows& /*rows*/) const {}
  /// dU and db_hh.
  virtual void recurrent_gradients(const GradientOperands& operands,
                                   const CellGradients& gradients) const = 0;

  /// Sequences of a slice of a walk with matrix products.
  dim_t slice_rows(const PackedLayout& layout) const;

  void pack_input();
  /// The columns of W x on the tape of all rows.
  void input_products(ConstMatrixF x, CellWork& work, MatrixF gates) const;
  void rebuild_gates(const PackedLayout& layout, ConstMatrixF x, const CellTape& tape,
                     CellWork& work) const;
  /// Whether d is rounded as soon as it is known.
  bool rounds_at_once() const { return precision_ == Precision::bf16 && !shape_.finishes_d; }
  ConstMatrixF previous_states(const PackedLayout& layout, const CellTape& tape,
                               const CellWork& work) const;

  CellShape shape_;
  Precision precision_ = Precision::f32;
  PassUse passes_;
  CellWeights weights_;
  Buffer<float> zeros_;           // [K D]: for biases that are missing
  Matrix rotated_;                // W in the tape's order of gates
  PackedWeights input_forward_;   // W^T [I, K D], in that order
  PackedWeights input_backward_;  // W [K D, I], in that order
};

/// `reset` matters to the GRU alone.
std::unique_ptr<Cell> make_cell(CellKind kind, GruReset reset, dim_t input, dim_t hidden);

}  // namespace dsf
