#pragma once

// A recurrent cell over a packed batch: forward, local backward, exact product with its Jacobian.
//
//   T steps, B sequences, N rows = tokens of the batch, I inputs, D hidden units, K gates,
//   S state size (D; 2D for the LSTM, whose state is [h, c])
//
//   forward         s_t = f(x_t, s_{t-1})
//   local backward  g_t -> d_t, the gradient of the pre-activations, s_{t-1} held constant
//   state product   g_{t-1} += g_t J_t,   J_t = ds_t / ds_{t-1}
//   parameters      dX = d W,  dW = d^T X,  dU = d^T H_{t-1},  db = sum of d: all N rows at once
//
// The base class owns what all cells share: the walk, the GEMMs over all rows, the tape. A cell
// adds its gates. Parameters have PyTorch's shapes, gate order and two biases.

#include <memory>
#include <string>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/base/packed_layout.h"
#include "dsf/cells/own_path.h"
#include "dsf/cells/state_product.h"
#include "dsf/cells/step_span.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/packed_weights.h"

namespace dsf {

enum class CellKind { rnn, gru, lstm };
/// Where the GRU applies its reset gate: to the product U h (PyTorch) or to h before it (the
/// paper).
enum class GruReset { after, before };

/// Throw ConfigError with the known names.
CellKind parse_cell_kind(const std::string& name);
GruReset parse_gru_reset(const std::string& name);

/// The sizes of a cell, in the letters of the equations.
struct CellShape {
  dim_t input = 0;    ///< I
  dim_t hidden = 0;   ///< D
  dim_t gates = 1;    ///< K
  dim_t state = 0;    ///< S
  dim_t extra = 0;    ///< E: columns of CellWork::extra
  dim_t d_extra = 0;  ///< of CellWork::d_extra: E, or 0 where backward writes it over `extra`
};

/// Values of the parameters; must stay in place until the next prepare().
struct CellWeights {
  ConstMatrixF W;               ///< weight_ih [K D, I]
  ConstMatrixF U;               ///< weight_hh [K D, D]
  const float* b_ih = nullptr;  ///< [K D]
  const float* b_hh = nullptr;  ///< [K D]
};

/// Gradients of the parameters, same shapes; always accumulated into.
struct CellGradients {
  MatrixF W;
  MatrixF U;
  float* b_ih = nullptr;
  float* b_hh = nullptr;
};

/// Memory of a pass through one layer, reused from step to step: everything grows to the largest
/// batch and stays.
struct CellWork {
  Matrix gates;  ///< [N, K D]: W x, then the gates, then d
  Matrix extra;  ///< [N, E]: one more per-row quantity of the GRU (see gru.h)

  Matrix recurrent;                      ///< [., K D]: U h of the rows a task is at
  Matrix rebuilt;                        ///< [., S]: their states, where the gates are rebuilt
  Matrix gathered;                       ///< [N, S]: s_{t-1}, where lengths differ
  Matrix d_extra;                        ///< [N, E] or none: a gradient on its way (see gru.h)
  Matrix trial_d;                        ///< [., K D]: d of the spans under way, on trial
  Matrix trial_d_extra;                  ///< [., E]: their d_extra
  Buffer<float> bias_sums;               ///< [K D]
  Buffer<float> partial_sums;            ///< of the column sums
  std::vector<ProductScratch> products;  ///< one a task
  OperandScratch x_operand;
  OperandScratch d_operand;
  OperandScratch d_extra_operand;
  OperandScratch h_operand;
};

/// What backward reads of a layer's forward pass. Backward consumes it (gradients replace the gates
/// in place), so it runs once after each forward.
///
/// A layer whose work is its own finds there the gates that its forward pass left. Layers that take
/// turns share one work: they keep the states alone, and backward rebuilds the gates.
struct CellTape {
  Matrix states;  ///< [B + N, S]: the initial states, then those of all rows
  std::shared_ptr<CellWork> work = std::make_shared<CellWork>();
  bool shares_work = false;
  bool filled = false;  ///< between forward and backward
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

  /// Converts and packs the weights, once after every change; U for backward_step and rest_product
  /// too, where they are `use`d.
  void prepare(const CellWeights& weights, Precision precision, StateProductUse use);

  /// x [N, I], y [N, S] overwritten. `state` [B, S]: in the initial states, out the last ones; an
  /// empty view starts from zero and returns nothing.
  void forward(const PackedLayout& layout, ConstMatrixF x, MatrixF state, CellTape& tape,
               MatrixF y) const;

  // Backward, in this order: begin_backward; then each row's local backward exactly once, by one of
  // the three ways; then parameter_gradients. g [N, S] is the total gradient of all rows.

  /// x [N, I] as in forward.
  void begin_backward(const PackedLayout& layout, ConstMatrixF x, CellTape& tape) const;

  /// Way one, for feedback that needs no Jacobian: the elementwise part for `count` rows from
  /// `begin` on, any rows in any order, from any thread; at the end the rest, for all rows.
  void local_backward(const PackedLayout& layout, dim_t begin, dim_t count, ConstMatrixF g,
                      CellTape& tape) const;
  void finish_local_backward(const PackedLayout& layout, CellTape& tape) const;

  /// Way two, for BPTT: local backward of the rows of step t, then g_{t-1} += g_t (D_t + R_t) where
  /// t > 0 (RestPath). The rows lie within one slice (slices.h), and a slice is on one thread at a
  /// time.
  void backward_step(const PackedLayout& layout, StepRows rows, RestPath path, CellTape& tape,
                     MatrixF g) const;

  /// Way three, elementwise: local backward of the rows of step t, then g_{t-1} += g_t D_t where
  /// t > 0 (own_path.h). From any thread; at the end finish_local_backward.
  void own_path_step(const PackedLayout& layout, StepRows rows, OwnPath path, CellTape& tape,
                     MatrixF g) const;

  // Before any of the three, for the rows of a span of steps (step_span.h) and as often as wanted:
  // own_path_trial of each of its steps, then rest_product. A slot is on one thread at a time.

  /// Memory for spans in `slots` slots.
  void begin_trials(dim_t slots, CellTape& tape) const;
  /// g_{t-1} += g_t D_t as own_path_step by OwnPath::gates, but the tape's gates stay as they are.
  /// g [n, S]: g_t; g_previous [n, S]: accumulated into, or empty where t = 0. `path`: which
  /// rest_product is to follow.
  void own_path_trial(const PackedLayout& layout, const StepSpan& span, const SpanStep& step,
                      RestPath path, ConstMatrixF g, MatrixF g_previous, CellTape& tape) const;
  /// rest [rows of the span, S] overwritten: g_t R_t (RestPath), with the g of the trials, by matrix
  /// products over all of the span's rows at once.
  void rest_product(const PackedLayout& layout, const StepSpan& span, RestPath path, CellTape& tape,
                    MatrixF rest) const;

  /// dx [N, I] overwritten, may be x itself; gradients accumulated.
  void parameter_gradients(const PackedLayout& layout, ConstMatrixF x, CellTape& tape, MatrixF dx,
                           const CellGradients& gradients) const;

 protected:
  /// The rows of one slice at one step, n of them.
  struct ForwardRows {
    ConstMatrixF previous;    ///< [n, S] in: s_{t-1}
    MatrixF recurrent;        ///< [n, K D] scratch
    MatrixF gates;            ///< [n, K D] in: W x; out: what backward wants
    MatrixF extra;            ///< [n, E] out
    MatrixF state;            ///< [n, S] out: s_t
    OperandScratch* operand;  ///< scratch for GEMM operands
  };
  /// Any n rows on their way back.
  struct BackwardRows {
    ConstMatrixF g;         ///< [n, S] in
    ConstMatrixF previous;  ///< [n, S] in: s_{t-1}
    ConstMatrixF state;     ///< [n, S] in: s_t
    ConstMatrixF gates;     ///< [n, K D] in
    ConstMatrixF extra;     ///< [n, E] in
    MatrixF d;              ///< [n, K D] out: d; the same memory as `gates`, but on trial.
                            ///< [n, D] for the hooks of the candidate alone
    MatrixF d_extra;        ///< [n, E] out (see gru.h)
    MatrixF g_previous;     ///< [n, S] accumulated into; empty where nobody asks for it
  };
  /// All N rows, as operands in the GEMMs' precision.
  struct GradientOperands {
    OperandView d;           ///< [N, K D]
    OperandView h_previous;  ///< [N, D]
  };

  Precision precision() const { return precision_; }
  const CellWeights& weights() const { return weights_; }
  /// The diagonals of the K recurrent matrices [K D].
  const float* recurrent_diagonal() const { return recurrent_diagonal_.data(); }
  /// The h of rows of states or of their gradients: the first D columns.
  template <typename T>
  MatrixView<T> h_of(MatrixView<T> state) const {
    return state.middle_cols(0, shape_.hidden);
  }

 private:
  /// False where nothing goes around the recurrent matrices (OwnPath).
  virtual bool has_gate_path() const { return true; }
  /// Packs U as forward_step and, where asked, the backward hooks need it.
  virtual void pack_recurrent(StateProductUse use) = 0;
  virtual void forward_step(const ForwardRows& rows) const = 0;
  /// The elementwise part of g -> d; where g_previous is given, also the elementwise part of
  /// g_{t-1} += g_t J_t.
  virtual void backward_gates(const BackwardRows& rows) const = 0;
  // The part of g -> d (and of g_{t-1}) that needs a matrix product, only in the GRU that resets
  // before: the product of d into d_extra, then the elementwise rest.
  virtual bool finishes_by_product() const { return false; }
  virtual void finishing_product(ConstMatrixF /*d*/, OperandScratch& /*operand*/,
                                 MatrixF /*d_extra*/) const {}
  virtual void finish_gates(const BackwardRows& /*rows*/) const {}
  /// g_{t-1} += d U: the way back through the pre-activations.
  virtual void add_recurrent_product(const BackwardRows& rows, ProductScratch& scratch) const = 0;

  /// The same through the candidate's block of U alone, by the d [n, D] that belongs to it.
  virtual void add_candidate_product(ConstMatrixF d, ProductScratch& scratch,
                                     MatrixF g_previous) const = 0;
  /// That d, after backward_gates; where finishes_by_product(), finish_gates has sent it already.
  virtual ConstMatrixF candidate_d(const BackwardRows& /*rows*/) const { return {}; }

  // On trial, for RestPath::candidate: as backward_gates, but with that d alone; then
  // add_candidate_product, and what is elementwise behind it.
  virtual void backward_candidate(const BackwardRows& rows) const = 0;
  virtual bool scales_candidate_product() const { return false; }
  virtual void scale_candidate_product(const BackwardRows& /*rows*/) const {}

  /// g_{t-1} += sign (what backward_gates' d sends back through recurrent_diagonal() alone).
  virtual void add_own_product(float sign, const BackwardRows& rows) const = 0;
  /// dU and db_hh; work.bias_sums [K D] holds the column sums of d.
  virtual void recurrent_gradients(const GradientOperands& operands, CellWork& work,
                                   const CellGradients& gradients) const = 0;

  void rebuild_gates(const PackedLayout& layout, ConstMatrixF x, CellTape& tape) const;
  ConstMatrixF previous_states(const PackedLayout& layout, const CellTape& tape) const;
  /// `count` rows from `begin` on; g and g_previous are the caller's to set.
  BackwardRows backward_rows(const PackedLayout& layout, dim_t begin, dim_t count,
                             CellTape& tape) const;
  /// Those of a step, with their g and that of the step before.
  BackwardRows step_rows(const PackedLayout& layout, StepRows rows, CellTape& tape,
                         MatrixF g) const;
  /// The rows of a span's step, with d in the span's slot.
  BackwardRows trial_rows(const PackedLayout& layout, const StepSpan& span, const SpanStep& step,
                          RestPath path, CellTape& tape) const;
  MatrixF trial_d(dim_t begin, dim_t count, RestPath path, CellTape& tape) const;
  bool replaces_extra() const { return shape_.d_extra < shape_.extra; }
  bool takes_diagonal(OwnPath path) const { return path == OwnPath::diagonal || !has_gate_path(); }

  CellShape shape_;
  Precision precision_ = Precision::f32;
  CellWeights weights_;
  Buffer<float> recurrent_diagonal_;
  PackedWeights input_forward_;   // W^T [I, K D]
  PackedWeights input_backward_;  // W [K D, I]
};

/// `reset` matters to the GRU alone.
std::unique_ptr<Cell> make_cell(CellKind kind, GruReset reset, dim_t input, dim_t hidden);

}  // namespace dsf
