#include "dsf/feedback/iterated.h"

#include <algorithm>

#include "dsf/feedback/two_path_walk.h"
#include "dsf/kernels/elementwise.h"

namespace dsf {
namespace {

constexpr OwnPath kPath = OwnPath::gates;

// g_t = e_t + rest_{t+1}: `rest` holds at (t, b) what step t sends to t - 1.
void start_correction(const PackedLayout& layout, ConstMatrixF errors, ConstMatrixF rest,
                      MatrixF g) {
  parallel_for(layout.steps(), [&](dim_t t) {
    const dim_t alive = t + 1 < layout.steps() ? layout.rows_at(t + 1) : 0;
    for (dim_t b = 0; b < layout.rows_at(t); ++b) {
      const float* __restrict from = errors.row(layout.offset(t) + b);
      float* __restrict to = g.row(layout.offset(t) + b);
      if (b >= alive) {
        std::copy_n(from, g.cols, to);
        continue;
      }
      const float* __restrict sent = rest.row(layout.offset(t + 1) + b);
      for (dim_t j = 0; j < g.cols; ++j) to[j] = from[j] + sent[j];
    }
  });
}

}  // namespace

std::vector<NamedBuffer> IteratedFeedback::buffers() {
  if (a_.empty()) return {};
  return {{"diagonal", a_.span()}};
}

// g_{t-1} = (.)_{t-1} + g_t D_t; the first guess also along `a`, where there is one.
template <typename FollowOwnPath>
void IteratedFeedback::walk(const PackedLayout& layout, bool first_guess, FeedbackWorkspace& work,
                            FollowOwnPath&& follow_own_path, MatrixF g) {
  if (first_guess && !a_.empty()) {
    walk_two_paths(layout, a_.span(), work.step_errors, follow_own_path, g);
  } else {
    walk_backward(layout, streaming_rows(layout), follow_own_path);
  }
}

void IteratedFeedback::run(const PackedLayout& layout, BackwardAccess& cell,
                           FeedbackWorkspace& work, MatrixF g) {
  // More would change nothing: after T - 1 corrections every step is exact.
  const dim_t corrections = std::min(corrections_, layout.steps() - 1);
  if (corrections > 0) {
    copy(g, work.errors.reshape(g.rows, g.cols));
    work.rest.reshape(g.rows, g.cols);
    cell.begin_trial();
  }
  for (dim_t i = 0; i < corrections; ++i) {
    walk(
        layout, i == 0, work, [&](StepRows rows) { cell.own_path_trial(rows, kPath, g); }, g);
    cell.rest_product(kPath, work.rest);
    start_correction(layout, work.errors, work.rest, g);
  }
  walk(
      layout, corrections == 0, work, [&](StepRows rows) { cell.own_path_step(rows, kPath, g); },
      g);
  cell.finish_local_backward(g);
}

}  // namespace dsf
