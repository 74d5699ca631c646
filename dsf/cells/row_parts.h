#pragma once

// The elementwise part of a step in a batch of a single slice (slices.h): shared out, because the
// calling thread would otherwise do it alone while the others wait for the next product.

#include <algorithm>

#include "dsf/kernels/parallel.h"

namespace dsf {

/// body(part) over parts of `rows`, a cell's ForwardRows, each worth calling a thread that waits for
/// work; `units` of a row. Serial inside a slice's task.
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
