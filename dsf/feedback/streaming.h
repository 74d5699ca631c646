#pragma once

// Ways back through time that multiply no large matrices: one walk, local backward included.

#include <algorithm>

#include "dsf/cells/slices.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// Sequences of one task of such a walk, at most: finer slices than the cells' cost nothing and
/// keep more threads busy.
inline constexpr dim_t kStreamingRows = 8;

/// Fewer than `most` in a small batch, so that there are four tasks where there are four sequences.
/// By shape alone, never by the number of threads.
inline dim_t streaming_rows(dim_t batch, dim_t most = kStreamingRows) {
  return std::clamp<dim_t>(batch / 4, 1, most);
}

/// g_{t-1} = e_{t-1} + g_t A, with the local backward of each row. On entry g [N, S] holds e.
/// `add_product(g_t, g_previous)`: g_previous [n, S] += g_t [n, S] A, from inside a parallel task.
template <typename AddProduct>
void stream_back(const PackedLayout& layout, BackwardAccess& cell, AddProduct&& add_product,
                 MatrixF g) {
  walk_backward(layout, streaming_rows(layout.batch()), [&](StepRows rows) {
    cell.local_backward(rows, g);
    if (rows.t == 0) return;
    const ConstMatrixF g_t = g.middle_rows(layout.offset(rows.t) + rows.begin, rows.count);
    add_product(g_t, g.middle_rows(layout.offset(rows.t - 1) + rows.begin, rows.count));
  });
  cell.finish_local_backward();
}

}  // namespace dsf
