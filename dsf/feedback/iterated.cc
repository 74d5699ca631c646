#include "dsf/feedback/iterated.h"

#include <algorithm>

#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/rows.h"

namespace dsf {
namespace {

// g_{t-1} += sent_t for every step but the first.
void add_to_step_before(const PackedLayout& layout, ConstMatrixF sent, MatrixF g) {
  parallel_for(layout.steps() - 1, [&](dim_t t) {
    const dim_t n = layout.rows_at(t + 1);
    add_rows(sent.middle_rows(layout.offset(t + 1), n), g.middle_rows(layout.offset(t), n));
  });
}

}  // namespace

void IteratedFeedback::run(BackwardPass& pass) {
  const PackedLayout& layout = pass.layout();
  const MatrixF g = pass.g();  // e until the last walk
  const MatrixF guess = guess_.reshape(g.rows, g.cols);
  const MatrixF off_diagonal = off_diagonal_.reshape(g.rows, g.cols);
  // More would change nothing: after T - 1 corrections every step is exact, after T the initial
  // state is too.
  const dim_t corrections = std::min(corrections_, layout.steps());
  for (dim_t i = 0; i < corrections; ++i) {
    copy(g, guess);
    if (i > 0) add_to_step_before(layout, off_diagonal, guess);
    pass.trial_walk(guess, off_diagonal);
  }
  add_to_step_before(layout, off_diagonal, g);
  if (const MatrixF initial = pass.initial(); !initial.empty()) {
    add_rows(off_diagonal.middle_rows(0, initial.rows), initial);
  }
  pass.walk_diagonal();
}

}  // namespace dsf
