#include "dsf/cells/cell.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsf/base/error.h"
#include "dsf/cells/slices.h"
#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

// Rows of one task of an elementwise pass over all N rows.
constexpr dim_t kElementwiseRows = 16;

// The predecessor of row (t, b) in a matrix of B initial rows followed by the N rows of the batch.
dim_t previous_row(const PackedLayout& layout, dim_t t) {
  return t == 0 ? 0 : layout.batch() + layout.offset(t - 1);
}

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

// The diagonals of the K matrices [D, D] that U [K D, D] consists of.
void copy_diagonals(ConstMatrixF U, Buffer<float>& diagonal) {
  diagonal.ensure(U.rows);
  for (dim_t i = 0; i < U.rows; ++i) diagonal[i] = U(i, i % U.cols);
}

void ensure_products(dim_t tasks, CellWork& work) {
  const auto count = static_cast<std::size_t>(tasks);
  if (work.products.size() < count) work.products.resize(count);
}

ProductScratch& product_scratch(dim_t task, CellWork& work) {
  return work.products[static_cast<std::size_t>(task)];
}

}  // namespace

CellKind parse_cell_kind(const std::string& name) {
  if (name == "rnn") return CellKind::rnn;
  if (name == "gru") return CellKind::gru;
  if (name == "lstm") return CellKind::lstm;
  throw ConfigError(fmt::format("model.mixer = \"{}\" is unknown; known: rnn, gru, lstm", name));
}

GruReset parse_gru_reset(const std::string& name) {
  if (name == "after") return GruReset::after;
  if (name == "before") return GruReset::before;
  throw ConfigError(fmt::format("model.reset = \"{}\" is unknown; known: after, before", name));
}

void Cell::prepare(const CellWeights& weights, Precision precision, StateProductUse use) {
  weights_ = weights;
  precision_ = precision;
  input_forward_.pack(weights.W, Op::transpose, precision);
  input_backward_.pack(weights.W, Op::none, precision);
  copy_diagonals(weights.U, recurrent_diagonal_);
  pack_recurrent(use);
}

void Cell::forward(const PackedLayout& layout, ConstMatrixF x, MatrixF state, CellTape& tape,
                   MatrixF y) const {
  const dim_t B = layout.batch();
  const dim_t N = layout.total_rows();
  const dim_t KD = shape_.gates * shape_.hidden;
  CellWork& work = *tape.work;
  const MatrixF states = tape.states.reshape(B + N, shape_.state);
  const MatrixF gates = work.gates.reshape(N, KD);
  const MatrixF extra = work.extra.reshape(N, shape_.extra);
  const MatrixF recurrent = work.recurrent.reshape(B, KD);
  ensure_products(slice_count(layout), work);

  load_initial_states(state, states.middle_rows(0, B));
  gemm(work.x_operand(x, precision_), input_forward_, Into::overwrite, gates);

  walk_forward(layout, kSliceRows, [&](StepRows rows) {
    const dim_t begin = layout.offset(rows.t) + rows.begin;
    const dim_t n = rows.count;
    const MatrixF state_rows = states.middle_rows(B + begin, n);
    const dim_t previous = previous_row(layout, rows.t) + rows.begin;
    forward_step({.previous = states.middle_rows(previous, n),
                  .recurrent = recurrent.middle_rows(rows.begin, n),
                  .gates = gates.middle_rows(begin, n),
                  .extra = extra.middle_rows(begin, n),
                  .state = state_rows,
                  .operand = &product_scratch(slice_of(rows.begin), work).operand});
    copy_rows(state_rows, y.middle_rows(begin, n));
  });

  store_last_states(layout, states.middle_rows(B, N), state);
  tape.filled = true;
}

void Cell::begin_backward(const PackedLayout& layout, ConstMatrixF x, CellTape& tape) const {
  const dim_t N = layout.total_rows();
  if (!tape.filled || tape.states.rows() != layout.batch() + N) {
    throw Error("cell: backward without a forward pass of the same batch before it");
  }
  tape.filled = false;
  tape.work->d_extra.reshape(N, shape_.d_extra);
  if (!layout.is_uniform()) {
    const MatrixF gathered = tape.work->gathered.reshape(N, shape_.state);
    const ConstMatrixF states = tape.states;
    parallel_for(layout.steps(), [&](dim_t t) {
      const dim_t n = layout.rows_at(t);
      copy_rows(states.middle_rows(previous_row(layout, t), n),
                gathered.middle_rows(layout.offset(t), n));
    });
  }
  if (tape.shares_work) rebuild_gates(layout, x, tape);
}

// s_t = f(x_t, s_{t-1}) once more, for the gates' sake. All s_{t-1} are known, so the rows need not
// wait for each other: they are cut into strips, one a task, each a few rows at a time.
void Cell::rebuild_gates(const PackedLayout& layout, ConstMatrixF x, CellTape& tape) const {
  constexpr dim_t kRows = 64;
  constexpr dim_t kMostStrips = 32;
  CellWork& work = *tape.work;
  const dim_t N = layout.total_rows();
  const dim_t KD = shape_.gates * shape_.hidden;
  const dim_t strip_rows = kRows * ceil_div(N, kRows * kMostStrips);
  const dim_t strips = task_count(N, strip_rows);
  const MatrixF gates = work.gates.reshape(N, KD);
  const MatrixF extra = work.extra.reshape(N, shape_.extra);
  const MatrixF recurrent = work.recurrent.reshape(strips * kRows, KD);
  const MatrixF rebuilt = work.rebuilt.reshape(strips * kRows, shape_.state);
  const ConstMatrixF previous = previous_states(layout, tape);
  ensure_products(strips, work);

  gemm(work.x_operand(x, precision_), input_forward_, Into::overwrite, gates);
  parallel_for(strips, [&](dim_t strip) {
    const dim_t end = std::min((strip + 1) * strip_rows, N);
    for (dim_t begin = strip * strip_rows; begin < end; begin += kRows) {
      const dim_t n = std::min(kRows, end - begin);
      forward_step({.previous = previous.middle_rows(begin, n),
                    .recurrent = recurrent.middle_rows(strip * kRows, n),
                    .gates = gates.middle_rows(begin, n),
                    .extra = extra.middle_rows(begin, n),
                    .state = rebuilt.middle_rows(strip * kRows, n),
                    .operand = &product_scratch(strip, work).operand});
    }
  });
}

// Where all sequences are equally long, s_{t-1} of row i is row i of the states.
ConstMatrixF Cell::previous_states(const PackedLayout& layout, const CellTape& tape) const {
  if (!layout.is_uniform()) return tape.work->gathered;
  return tape.states.view().middle_rows(0, layout.total_rows());
}

Cell::BackwardRows Cell::backward_rows(const PackedLayout& layout, dim_t begin, dim_t count,
                                       CellTape& tape) const {
  CellWork& work = *tape.work;
  Matrix& d_extra = replaces_extra() ? work.extra : work.d_extra;
  return {.g = {},
          .previous = previous_states(layout, tape).middle_rows(begin, count),
          .state = tape.states.view().middle_rows(layout.batch() + begin, count),
          .gates = work.gates.view().middle_rows(begin, count),
          .extra = work.extra.view().middle_rows(begin, count),
          .d = work.gates.view().middle_rows(begin, count),
          .d_extra = d_extra.view().middle_rows(begin, count),
          .g_previous = {}};
}

Cell::BackwardRows Cell::step_rows(const PackedLayout& layout, StepRows rows, CellTape& tape,
                                   MatrixF g) const {
  const dim_t begin = layout.offset(rows.t) + rows.begin;
  BackwardRows back = backward_rows(layout, begin, rows.count, tape);
  back.g = g.middle_rows(begin, rows.count);
  if (rows.t > 0) {
    back.g_previous = g.middle_rows(layout.offset(rows.t - 1) + rows.begin, rows.count);
  }
  return back;
}

// Of the candidate alone, in the first D columns.
MatrixF Cell::trial_d(dim_t begin, dim_t count, RestPath path, CellTape& tape) const {
  const MatrixF d = tape.work->trial_d.view().middle_rows(begin, count);
  return path == RestPath::all ? d : d.middle_cols(0, shape_.hidden);
}

Cell::BackwardRows Cell::trial_rows(const PackedLayout& layout, const StepSpan& span,
                                    const SpanStep& step, RestPath path, CellTape& tape) const {
  const dim_t n = step.rows.count;
  const dim_t at = span.slot * kSpanRows + step.at;
  const dim_t begin = layout.offset(step.rows.t) + step.rows.begin;
  BackwardRows rows = backward_rows(layout, begin, n, tape);
  rows.d = trial_d(at, n, path, tape);
  rows.d_extra = tape.work->trial_d_extra.view().middle_rows(at, n);
  return rows;
}

void Cell::local_backward(const PackedLayout& layout, dim_t begin, dim_t count, ConstMatrixF g,
                          CellTape& tape) const {
  parallel_ranges(count, kElementwiseRows, [&](dim_t from, dim_t to) {
    BackwardRows rows = backward_rows(layout, begin + from, to - from, tape);
    rows.g = g.middle_rows(begin + from, to - from);
    backward_gates(rows);
  });
}

void Cell::finish_local_backward(const PackedLayout& layout, CellTape& tape) const {
  if (!finishes_by_product()) return;
  const BackwardRows all = backward_rows(layout, 0, layout.total_rows(), tape);
  finishing_product(all.d, tape.work->d_extra_operand, all.d_extra);
  parallel_ranges(layout.total_rows(), kElementwiseRows, [&](dim_t begin, dim_t end) {
    finish_gates(backward_rows(layout, begin, end - begin, tape));
  });
}

void Cell::backward_step(const PackedLayout& layout, StepRows rows, RestPath path, CellTape& tape,
                         MatrixF g) const {
  ProductScratch& scratch = product_scratch(slice_of(rows.begin), *tape.work);
  const BackwardRows back = step_rows(layout, rows, tape, g);
  backward_gates(back);
  if (finishes_by_product()) {
    finishing_product(back.d, scratch.operand, back.d_extra);
    finish_gates(back);
  }
  if (rows.t == 0) return;
  if (path == RestPath::all) {
    add_recurrent_product(back, scratch);
  } else if (!finishes_by_product()) {
    add_candidate_product(candidate_d(back), scratch, back.g_previous);
  }
}

void Cell::own_path_step(const PackedLayout& layout, StepRows rows, OwnPath path, CellTape& tape,
                         MatrixF g) const {
  const BackwardRows back = step_rows(layout, rows, tape, g);
  backward_gates(back);
  if (rows.t > 0 && takes_diagonal(path)) add_own_product(1.0F, back);
}

void Cell::begin_trials(dim_t slots, CellTape& tape) const {
  ensure_products(slots, *tape.work);
  tape.work->trial_d.reshape(slots * kSpanRows, shape_.gates * shape_.hidden);
  tape.work->trial_d_extra.reshape(slots * kSpanRows, shape_.extra);
}

void Cell::own_path_trial(const PackedLayout& layout, const StepSpan& span, const SpanStep& step,
                          RestPath path, ConstMatrixF g, MatrixF g_previous, CellTape& tape) const {
  BackwardRows rows = trial_rows(layout, span, step, path, tape);
  rows.g = g;
  rows.g_previous = g_previous;
  if (path == RestPath::all) {
    backward_gates(rows);
  } else {
    backward_candidate(rows);
  }
  if (step.rows.t > 0 && takes_diagonal(OwnPath::gates)) add_own_product(1.0F, rows);
}

// All that the trial has not sent back yet, less what went the own path.
void Cell::rest_product(const PackedLayout& layout, const StepSpan& span, RestPath path,
                        CellTape& tape, MatrixF rest) const {
  ProductScratch& scratch = product_scratch(span.slot, *tape.work);
  const dim_t begin = span.slot * kSpanRows;
  BackwardRows all;  // of the span: their gates do not lie one after another, their d does
  all.d = trial_d(begin, span.rows, path, tape);
  all.d_extra = tape.work->trial_d_extra.view().middle_rows(begin, span.rows);
  all.g_previous = rest;
  const auto for_each_step = [&](auto&& body) {
    walk_span(layout, span, [&](const SpanStep& step) {
      BackwardRows rows = trial_rows(layout, span, step, path, tape);
      rows.g_previous = rest.middle_rows(step.at, step.rows.count);
      body(rows);
    });
  };

  zero_rows(rest);
  if (path == RestPath::all) {
    if (finishes_by_product()) {
      finishing_product(all.d, scratch.operand, all.d_extra);
      for_each_step([&](const BackwardRows& rows) { finish_gates(rows); });
    }
    add_recurrent_product(all, scratch);
  } else {
    add_candidate_product(all.d, scratch, rest);
    if (scales_candidate_product()) {
      for_each_step([&](const BackwardRows& rows) { scale_candidate_product(rows); });
    }
  }
  if (takes_diagonal(OwnPath::gates)) {
    for_each_step([&](const BackwardRows& rows) { add_own_product(-1.0F, rows); });
  }
}

void Cell::parameter_gradients(const PackedLayout& layout, ConstMatrixF x, CellTape& tape,
                               MatrixF dx, const CellGradients& gradients) const {
  const dim_t KD = shape_.gates * shape_.hidden;
  const OperandView d = tape.work->d_operand(tape.work->gates, precision_);
  gemm(Op::transpose, d, Op::none, tape.work->x_operand(x, precision_), Into::accumulate,
       gradients.W);
  gemm(d, input_backward_, Into::overwrite, dx);  // after dW: dx may be x

  tape.work->bias_sums.resize(KD);
  column_sums(tape.work->gates, tape.work->partial_sums, tape.work->bias_sums.data());
  add_row(tape.work->bias_sums.data(), KD, gradients.b_ih);

  const ConstMatrixF h_previous = h_of(previous_states(layout, tape));
  recurrent_gradients({d, tape.work->h_operand(h_previous, precision_)}, *tape.work, gradients);
}

}  // namespace dsf
