#include "dsf/cells/backward_pass.h"

#include <algorithm>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/kernels/rows.h"
#include "dsf/kernels/slices.h"

namespace dsf {
namespace {

// Rows of one task of an elementwise pass over all N rows.
constexpr dim_t kElementwiseRows = 16;

// Sequences of one slice of a walk without matrix products: finer slices than those of a walk with
// them cost nothing and keep more threads busy. Fewer in a small batch, so that there are four
// slices if there are four sequences. By shape alone, never by the number of threads.
dim_t elementwise_slice(dim_t batch) { return std::clamp<dim_t>(batch / 4, 1, 8); }

}  // namespace

BackwardPass::BackwardPass(const Cell& cell, const PackedLayout& layout, ConstMatrixF x,
                           const CellTape& tape, CellWork& work, MatrixF g, MatrixF initial)
    : cell_(cell), layout_(layout), tape_(tape), work_(work), g_(g), initial_(initial) {
  if (tape.states.rows != layout.batch() + layout.total_rows()) {
    throw Error("cell: backward with the tape of another batch");
  }
  if (!layout.is_uniform()) {
    const MatrixF gathered = work.gathered.reshape(layout.total_rows(), cell.shape().state);
    parallel_for(layout.steps(), [&](dim_t t) {
      const dim_t n = layout.rows_at(t);
      copy_rows(tape.states.middle_rows(previous_row(layout, t), n),
                gathered.middle_rows(layout.offset(t), n));
    });
  }
  if (tape.gates_are_lost) cell.rebuild_gates(layout, x, tape, work);
  previous_ = cell.previous_states(layout, tape, work);
  if (cell.rounds_at_once()) rounded_ = work.d_operand.reshape(g.rows, cell.shape().tape);
  // Both cuts of the batch find their scratch memory.
  const dim_t slice = std::min(elementwise_slice(layout.batch()), cell.slice_rows(layout));
  ensure_products(task_count(layout.batch(), slice), work);
}

BackwardPass::Rows BackwardPass::rows_at(dim_t begin, dim_t count) const {
  return {.g = g_.middle_rows(begin, count),
          .previous = previous_.middle_rows(begin, count),
          .state = tape_.states.middle_rows(layout_.batch() + begin, count),
          .gates = tape_.gates.middle_rows(begin, count),
          .d = tape_.d.middle_rows(begin, count),
          .g_previous = {},
          .rounded = rounded_.empty() ? rounded_ : rounded_.middle_rows(begin, count)};
}

BackwardPass::Rows BackwardPass::step_rows(StepRows rows, MatrixF g, MatrixF initial) const {
  const dim_t begin = layout_.offset(rows.t) + rows.begin;
  Rows back = rows_at(begin, rows.count);
  back.g = g.middle_rows(begin, rows.count);
  if (rows.t > 0) {
    back.g_previous = g.middle_rows(layout_.offset(rows.t - 1) + rows.begin, rows.count);
  } else if (!initial.empty()) {
    back.g_previous = initial.middle_rows(rows.begin, rows.count);
  }
  return back;
}

ProductScratch& BackwardPass::scratch_of(dim_t slice) const {
  return work_.products[static_cast<std::size_t>(slice)];
}

void BackwardPass::backward_rows(const Rows& rows, Diagonal diagonal) const {
  const bool adds = diagonal == Diagonal::added && !rows.g_previous.empty();
  const auto in_f32 = [&](const Rows& part) {
    cell_.backward_gates(part);
    if (adds) cell_.add_diagonal_part(1.0F, part);
  };
  if (rounded_.empty()) return in_f32(rows);
  thread_local Matrix at_once;
  const dim_t most = std::max<dim_t>(1, 4096 / rows.d.cols);  // d stays in the first-level cache
  for (dim_t begin = 0; begin < rows.d.rows; begin += most) {
    const dim_t n = std::min(most, rows.d.rows - begin);
    const auto part = [&](auto m) { return m.empty() ? m : m.middle_rows(begin, n); };
    const MatrixF d = at_once.reshape(n, rows.d.cols);
    in_f32({part(rows.g), part(rows.previous), part(rows.state), part(rows.gates), d,
            part(rows.g_previous)});
    convert_to_bf16(d, part(rows.rounded));
  }
}

void BackwardPass::local_backward() {
  parallel_ranges(layout_.total_rows(), kElementwiseRows,
                  [&](dim_t begin, dim_t end) { backward_rows(rows_at(begin, end - begin)); });
  finish_local_backward();
}

void BackwardPass::finish_local_backward() {
  cell_.finish_local_backward(rows_at(0, layout_.total_rows()), scratch_of(0));
}

void BackwardPass::walk_elementwise(const std::function<void(StepRows)>& step) const {
  walk_backward(layout_, elementwise_slice(layout_.batch()), step);
}

void BackwardPass::walk(const Carry& carry) {
  walk_elementwise([&](StepRows step) {
    Rows rows = step_rows(step, g_, initial_);
    const MatrixF previous = std::exchange(rows.g_previous, {});
    backward_rows(rows);
    if (!previous.empty()) carry(rows.g, previous);
  });
  finish_local_backward();
}

void BackwardPass::walk_diagonal() {
  walk_elementwise(
      [&](StepRows step) { backward_rows(step_rows(step, g_, initial_), Diagonal::added); });
  finish_local_backward();
}

void BackwardPass::walk_diagonal(const DiagonalCarry& carry) {
  const dim_t slice = elementwise_slice(layout_.batch());
  walk_elementwise([&](StepRows step) {
    Rows rows = step_rows(step, g_, initial_);
    if (rows.g_previous.empty()) return backward_rows(rows);
    const MatrixF diagonal =
        scratch_of(step.begin / slice).inner.reshape(step.count, cell_.shape().state);
    const MatrixF previous = std::exchange(rows.g_previous, diagonal);
    zero_rows(diagonal);
    backward_rows(rows, Diagonal::added);
    carry(rows.g, diagonal, previous);
  });
  finish_local_backward();
}

void BackwardPass::walk_jacobian() {
  const dim_t slice = cell_.slice_rows(layout_);
  walk_backward(layout_, slice, [&](StepRows step) {
    ProductScratch& scratch = scratch_of(step.begin / slice);
    const Rows rows = step_rows(step, g_, initial_);
    backward_rows(rows);
    cell_.finish_local_backward(rows, scratch);
    if (!rows.g_previous.empty()) cell_.add_recurrent_product(rows, scratch);
  });
}

void BackwardPass::trial_walk(MatrixF g, MatrixF off_diagonal) {
  const dim_t N = layout_.total_rows();
  const MatrixF d = work_.trial.reshape(N, cell_.shape().tape);
  walk_elementwise([&](StepRows step) {
    Rows rows = step_rows(step, g, {});
    rows.d = d.middle_rows(layout_.offset(step.t) + step.begin, step.count);
    cell_.backward_gates(rows);
    if (!rows.g_previous.empty()) cell_.add_diagonal_part(1.0F, rows);
  });
  Rows all = rows_at(0, N);
  all.d = d;
  all.g_previous = off_diagonal;
  zero_rows(off_diagonal);
  cell_.finish_local_backward(all, scratch_of(0));
  if (!rounded_.empty()) convert_to_bf16(d, rounded_);
  cell_.add_recurrent_product(all, scratch_of(0));
  cell_.add_diagonal_part(-1.0F, all);
}

}  // namespace dsf
