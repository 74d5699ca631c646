#pragma once

#include "dsf/base/packed_layout.h"
#include "dsf/base/view.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/rows.h"

namespace dsf {

/// g_t += later_{t+lag} for every step t that has such a step after it, steps in parallel.
/// `g` [N, S] is accumulated into; `later` [N - offset(lag), S] begins with the rows of step `lag`;
/// they share no memory.
inline void add_later_steps(const PackedLayout& layout, dim_t lag, ConstMatrixF later, MatrixF g) {
  parallel_for(layout.steps() - lag, [&](dim_t t) {
    const dim_t n = layout.rows_at(t + lag);
    add_rows(later.middle_rows(layout.offset(t + lag) - layout.offset(lag), n),
             g.middle_rows(layout.offset(t), n));
  });
}

}  // namespace dsf
