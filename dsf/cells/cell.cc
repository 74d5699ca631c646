#include "dsf/cells/cell.h"

#include <algorithm>

#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/rows.h"
#include "dsf/kernels/slices.h"

namespace dsf {
namespace {

void load_initial_states(ConstMatrixF state, MatrixF initial) {
  if (state.empty()) {
    zero_rows(initial);
  } else {
    copy_rows(state, initial);
  }
}

// `states` holds the N rows of the batch.
void store_last_states(const PackedLayout& layout, ConstMatrixF states, MatrixF state) {
  for (dim_t b = 0; b < state.rows; ++b) {
    const dim_t last = layout.offset(layout.length(b) - 1) + b;
    std::copy_n(states.row(last), states.cols, state.row(b));
  }
}

// The rows of `m`, the K gates' one below the other, with those of gate `first` in front.
void rotate_gates(ConstMatrixF m, dim_t first_row, MatrixF rotated) {
  const dim_t front = m.rows - first_row;
  copy_rows(m.middle_rows(first_row, front), rotated.middle_rows(0, front));
  copy_rows(m.middle_rows(0, first_row), rotated.middle_rows(front, first_row));
}

}  // namespace

void ensure_products(dim_t tasks, CellWork& work) {
  const auto count = static_cast<std::size_t>(tasks);
  if (work.products.size() < count) work.products.resize(count);
}

CellTape CellTape::in(Matrix& states, Matrix& gates, const CellShape& shape,
                      const PackedLayout& layout) {
  const dim_t N = layout.total_rows();
  const MatrixF columns = gates.reshape(N, shape.tape_stride()).middle_cols(0, shape.tape);
  return {
      .states = states.reshape(layout.batch() + N, shape.state), .gates = columns, .d = columns};
}

void Cell::prepare(const CellWeights& weights, Precision precision, JacobianUse use,
                   const PassUse& passes) {
  weights_ = weights;
  precision_ = precision;
  passes_ = passes;
  if (weights.b_ih == nullptr || weights.b_hh == nullptr) zeros_.resize(shape_.gate_columns());
  if (weights.b_ih == nullptr) weights_.b_ih = zeros_.data();
  if (weights.b_hh == nullptr) weights_.b_hh = zeros_.data();
  pack_input();
  if (use.rank == JacobianUse::kQuarterOfWidth) use.rank = std::max<dim_t>(1, shape_.hidden / 4);
  pack_recurrent(use);
}

void Cell::pack_input() {
  const bool forward = passes_.forward && PackedWeights::pays(passes_.rows);
  if (!forward && !passes_.input_gradient) return;
  ConstMatrixF W = weights_.W;
  if (shape_.first_gate > 0) {
    rotate_gates(W, shape_.first_gate * shape_.hidden, rotated_.reshape(W.rows, W.cols));
    W = rotated_;
  }
  if (forward) input_forward_.pack(W, Op::transpose, precision_);
  if (passes_.input_gradient) input_backward_.pack(W, Op::none, precision_, passes_.rows);
}

dim_t Cell::slice_rows(const PackedLayout& layout) const {
  return dsf::slice_rows(layout.batch(), shape_.gate_columns() * shape_.hidden);
}

// Of few rows by W as it is, the gates of both ends of the tape's order one after the other.
void Cell::input_products(ConstMatrixF x, CellWork& work, MatrixF gates) const {
  const OperandView input = work.x_operand(x, precision_);
  if (PackedWeights::pays(passes_.rows)) {
    return gemm(input, input_forward_, Into::overwrite, gates_of(gates, 0, shape_.gates));
  }
  const OperandView W = work.w_operand(weights_.W, precision_);
  const dim_t first = shape_.first_gate * shape_.hidden;
  const dim_t front = W.rows - first;
  gemm(Op::none, input, Op::transpose, W.block(first, front, 0, W.cols), Into::overwrite,
       gates.middle_cols(0, front));
  gemm(Op::none, input, Op::transpose, W.block(0, first, 0, W.cols), Into::overwrite,
       gates.middle_cols(front, first));
}

void Cell::forward(const PackedLayout& layout, ConstMatrixF x, MatrixF state, const CellTape& tape,
                   CellWork& work, MatrixF y) const {
  const dim_t B = layout.batch();
  const dim_t N = layout.total_rows();
  const MatrixF states = tape.states;
  const MatrixF recurrent = work.recurrent.reshape(B, shape_.gate_columns());
  const dim_t slice = slice_rows(layout);
  ensure_products(task_count(B, slice), work);

  load_initial_states(state, states.middle_rows(0, B));
  input_products(x, work, tape.gates);

  walk_forward(layout, slice, [&](StepRows rows) {
    const dim_t begin = layout.offset(rows.t) + rows.begin;
    const dim_t n = rows.count;
    const MatrixF state_rows = states.middle_rows(B + begin, n);
    const dim_t previous = previous_row(layout, rows.t) + rows.begin;
    forward_step({.previous = states.middle_rows(previous, n),
                  .recurrent = recurrent.middle_rows(rows.begin, n),
                  .gates = tape.gates.middle_rows(begin, n),
                  .state = state_rows,
                  .operand = &work.products[static_cast<std::size_t>(rows.begin / slice)].operand});
    copy_rows(state_rows.middle_cols(0, y.cols), y.middle_rows(begin, n));
  });

  store_last_states(layout, states.middle_rows(B, N), state);
}

// s_t = f(x_t, s_{t-1}) once more, for the gates' sake. All s_{t-1} are known, so the rows need not
// wait for each other: they are cut into chunks, one per task, each a few rows at a time.
void Cell::rebuild_gates(const PackedLayout& layout, ConstMatrixF x, const CellTape& tape,
                         CellWork& work) const {
  constexpr dim_t kRows = 64;
  constexpr dim_t kMostChunks = 32;
  const dim_t N = layout.total_rows();
  const dim_t chunk_rows = kRows * ceil_div(N, kRows * kMostChunks);
  const dim_t chunks = task_count(N, chunk_rows);
  const MatrixF recurrent = work.recurrent.reshape(chunks * kRows, shape_.gate_columns());
  const MatrixF rebuilt = work.rebuilt.reshape(chunks * kRows, shape_.state);
  const ConstMatrixF previous = previous_states(layout, tape, work);
  ensure_products(chunks, work);

  input_products(x, work, tape.gates);
  parallel_for(chunks, [&](dim_t chunk) {
    const dim_t end = std::min((chunk + 1) * chunk_rows, N);
    for (dim_t begin = chunk * chunk_rows; begin < end; begin += kRows) {
      const dim_t n = std::min(kRows, end - begin);
      forward_step({.previous = previous.middle_rows(begin, n),
                    .recurrent = recurrent.middle_rows(chunk * kRows, n),
                    .gates = tape.gates.middle_rows(begin, n),
                    .state = rebuilt.middle_rows(chunk * kRows, n),
                    .operand = &work.products[static_cast<std::size_t>(chunk)].operand});
    }
  });
}

// If all sequences are equally long, s_{t-1} of row i is row i of the states.
ConstMatrixF Cell::previous_states(const PackedLayout& layout, const CellTape& tape,
                                   const CellWork& work) const {
  if (!layout.is_uniform()) return work.gathered;
  return tape.states.middle_rows(0, layout.total_rows());
}

void Cell::put_row(const float* sums, dim_t n, Into into, float* db) {
  if (db == nullptr) return;
  if (into == Into::overwrite) std::fill_n(db, n, 0.0F);
  add_row(sums, n, db);
}

void Cell::parameter_gradients(const PackedLayout& layout, ConstMatrixF x, const CellTape& tape,
                               CellWork& work, MatrixF dx, Into into,
                               const CellGradients& gradients) const {
  const OperandView d = work.d_operand(tape.d, precision_, rounds_at_once());
  work.column_sums.resize(shape_.tape);
  column_sums(d, work.partial_sums, work.column_sums.data());
  const float* sums = work.column_sums.data();
  const OperandView x_operand = work.x_operand(x, precision_);

  // dW = d^T X and db_ih, from the tape's order of gates to PyTorch's.
  const auto add_gates = [&](dim_t on_tape, dim_t gate, dim_t count) {
    if (count == 0) return;
    const dim_t row = gate * shape_.hidden;
    const dim_t rows = count * shape_.hidden;
    gemm(Op::transpose, gates_of(d, on_tape, count), Op::none, x_operand, into,
         gradients.W.middle_rows(row, rows));
    put_row(sums + on_tape * shape_.hidden, rows, into,
            gradients.b_ih == nullptr ? nullptr : gradients.b_ih + row);
  };
  const dim_t first = shape_.first_gate;
  add_gates(0, first, shape_.gates - first);
  add_gates(shape_.gates - first, 0, first);
  if (!dx.empty()) {  // last: dx may be x
    gemm(gates_of(d, 0, shape_.gates), input_backward_, Into::overwrite, dx);
  }

  const ConstMatrixF h_previous = h_of(previous_states(layout, tape, work));
  recurrent_gradients({d, work.h_operand(h_previous, precision_), sums, into}, gradients);
}

}  // namespace dsf
