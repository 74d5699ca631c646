#include "dsf/feedback/dense.h"

#include <utility>

#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

// g_t += product_{t+h} for every step that has one; `product` begins with the rows of step h.
void add_shifted(const PackedLayout& layout, dim_t h, ConstMatrixF product, MatrixF g) {
  parallel_for(layout.steps() - h, [&](dim_t t) {
    const dim_t rows = layout.rows_at(t + h);
    for (dim_t b = 0; b < rows; ++b) {
      const float* __restrict from = product.row(layout.offset(t + h) - layout.offset(h) + b);
      float* __restrict to = g.row(layout.offset(t) + b);
      for (dim_t j = 0; j < g.cols; ++j) to[j] += from[j];
    }
  });
}

}  // namespace

std::vector<NamedBuffer> DenseFeedback::buffers() { return {{"matrix", a_.span()}}; }

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
    add_shifted(layout, h, product, g);
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
