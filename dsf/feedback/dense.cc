#include "dsf/feedback/dense.h"

#include <utility>

#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/later_steps.h"

namespace dsf {

void DenseFeedback::run(BackwardPass& pass) {
  const PackedLayout& layout = pass.layout();
  const MatrixF g = pass.g();
  copy(a_, power_.reshape(g.cols, g.cols));
  square_.reshape(g.cols, g.cols);
  for (dim_t h = 1; h < layout.steps(); h *= 2) {
    const dim_t rows = g.rows - layout.offset(h);
    const MatrixF product = product_.reshape(rows, g.cols);
    const ConstMatrixF power = power_;
    gemm(Op::none, g.middle_rows(layout.offset(h), rows), Op::none, power, Into::overwrite,
         product);
    add_later_steps(layout, h, product, g);
    if (2 * h >= layout.steps()) break;
    gemm(Op::none, power, Op::none, power, Into::overwrite, square_);
    std::swap(power_, square_);
  }
  if (const MatrixF initial = pass.initial(); !initial.empty()) {
    gemm(Op::none, g.middle_rows(0, initial.rows), Op::none, ConstMatrixF(a_), Into::accumulate,
         initial);
  }
  pass.local_backward();
}

}  // namespace dsf
