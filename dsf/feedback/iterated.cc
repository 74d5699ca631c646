#include "dsf/feedback/iterated.h"

#include <algorithm>

#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/later_steps.h"
#include "dsf/kernels/rows.h"

namespace dsf {

void IteratedFeedback::run(BackwardPass& pass) {
  const PackedLayout& layout = pass.layout();
  const MatrixF g = pass.g();  // e until the last walk
  const MatrixF guess = guess_.reshape(g.rows, g.cols);
  const MatrixF off_diagonal = off_diagonal_.reshape(g.rows, g.cols);
  const MatrixF from_step_1 = off_diagonal.middle_rows(layout.batch(), g.rows - layout.batch());
  // More would change nothing: after T - 1 corrections every step is exact, after T the initial
  // state is too.
  const dim_t corrections = std::min(corrections_, layout.steps());
  for (dim_t i = 0; i < corrections; ++i) {
    copy(g, guess);
    if (i > 0) add_later_steps(layout, 1, from_step_1, guess);
    pass.trial_walk(guess, off_diagonal);
  }
  add_later_steps(layout, 1, from_step_1, g);
  if (const MatrixF initial = pass.initial(); !initial.empty()) {
    add_rows(off_diagonal.middle_rows(0, initial.rows), initial);
  }
  pass.walk_diagonal();
}

}  // namespace dsf
