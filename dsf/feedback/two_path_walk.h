#pragma once

// The walk back along two paths at once: the cell's own, D, and a fixed diagonal, a, on what that
// one forgets.

#include <span>

#include "dsf/feedback/streaming.h"
#include "dsf/kernels/diagonal_step.h"
#include "dsf/kernels/rows.h"

namespace dsf {

/// g_{t-1} = e_{t-1} + g_t D_t + a (g_t - g_t D_t). On entry g [N, S] holds e. `a` [S].
/// `follow_own_path(rows)`: BackwardAccess::own_path_step or own_path_trial, on g.
/// `step_errors`: row b takes e_{t-1} of sequence b while its step t is under way.
template <typename FollowOwnPath>
void walk_two_paths(const PackedLayout& layout, std::span<const float> a, Matrix& step_errors,
                    FollowOwnPath&& follow_own_path, MatrixF g) {
  const MatrixF errors = step_errors.reshape(layout.batch(), g.cols);
  walk_backward(layout, streaming_rows(layout), [&](StepRows rows) {
    if (rows.t == 0) return follow_own_path(rows);
    const ConstMatrixF g_t = g.middle_rows(layout.offset(rows.t) + rows.begin, rows.count);
    const MatrixF previous = g.middle_rows(layout.offset(rows.t - 1) + rows.begin, rows.count);
    const MatrixF e = errors.middle_rows(rows.begin, rows.count);
    copy_rows(previous, e);
    zero_rows(previous);
    follow_own_path(rows);  // previous = g_t D_t
    join_paths(a, g_t, e, previous);
  });
}

}  // namespace dsf
