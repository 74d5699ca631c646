#pragma once

// How a walk through time is shared out: the sequences of a batch are cut into slices, and each
// slice is walked through all its steps by one thread, with no barrier per step. A batch of a single
// slice is walked by the calling thread, and each step's matrix product is shared out instead, by
// columns. The cut depends on the shape of the batch alone, so results do not depend on the number
// of threads.

#include <algorithm>

#include "dsf/base/packed_layout.h"
#include "dsf/kernels/parallel.h"

namespace dsf {

/// Sequences of a slice that multiplies by U, of `weights` numbers, each step: so many that
/// multiplying takes longer than reading U, few enough that a batch of 128 keeps several threads
/// busy. A small U, of 1 MB at most, stays in each core's own cache, where four are enough. The
/// slices are even in number and nearly equal.
constexpr dim_t slice_rows(dim_t batch, dim_t weights) {
  constexpr dim_t kSmall = dim_t{1} << 18U;
  constexpr dim_t kMostRows = 32;
  const dim_t worth_cutting = weights <= kSmall ? 8 : 32;
  if (batch < worth_cutting) return std::max<dim_t>(batch, 1);
  return ceil_div(batch, round_up(ceil_div(batch, kMostRows), dim_t{2}));
}

/// The row of s_{t-1} for the first sequence of step t, in a matrix of B initial rows followed by the
/// N rows of the batch.
inline dim_t previous_row(const PackedLayout& layout, dim_t t) {
  return t == 0 ? 0 : layout.batch() + layout.offset(t - 1);
}

/// body(begin, end) for every slice of sequences, in parallel where there is more than one.
template <typename Body>
void for_each_slice(dim_t sequences, dim_t rows_per_slice, Body&& body) {
  if (task_count(sequences, rows_per_slice) == 1) return body(dim_t{0}, sequences);
  parallel_ranges(sequences, rows_per_slice, body);
}

/// body(StepRows) for t = 0, 1, ... while the slice has a sequence alive; slices in parallel.
template <typename Body>
void walk_forward(const PackedLayout& layout, dim_t rows_per_slice, Body&& body) {
  for_each_slice(layout.batch(), rows_per_slice, [&](dim_t begin, dim_t end) {
    for (dim_t t = 0; t < layout.length(begin); ++t) body(slice_at(layout, t, begin, end));
  });
}

/// The same, from each slice's last step down to t = 0.
template <typename Body>
void walk_backward(const PackedLayout& layout, dim_t rows_per_slice, Body&& body) {
  for_each_slice(layout.batch(), rows_per_slice, [&](dim_t begin, dim_t end) {
    for (dim_t t = layout.length(begin) - 1; t >= 0; --t) body(slice_at(layout, t, begin, end));
  });
}

/// body(part) over parts of `rows`, a cell's ForwardRows, each worth calling a thread that waits for
/// work; `units` of a row. For the elementwise part of a step in a batch of a single slice, which the
/// calling thread would otherwise do alone; serial inside a slice's task.
template <typename Rows, typename Body>
void for_each_part(const Rows& rows, dim_t units, Body&& body) {
  constexpr dim_t kLeastUnits = 2048;  // some microseconds
  const dim_t grain = std::max<dim_t>(1, kLeastUnits / units);
  parallel_ranges(rows.state.rows, grain, [&](dim_t begin, dim_t end) {
    const dim_t n = end - begin;
    body(Rows{.previous = rows.previous.middle_rows(begin, n),
              .recurrent = rows.recurrent.middle_rows(begin, n),
              .gates = rows.gates.middle_rows(begin, n),
              .state = rows.state.middle_rows(begin, n),
              .operand = nullptr});
  });
}

}  // namespace dsf
