#include "dsf/kernels/factored_weights.h"

#include "dsf/kernels/rows.h"

namespace dsf {

void FactoredWeights::pack(std::initializer_list<ConstMatrixF> blocks, Precision precision,
                           dim_t rank, dim_t rows) {
  precision_ = precision;
  rank_ = rank < blocks.begin()->cols ? rank : 0;
  blocks_.resize(blocks.size());
  if (rank_ > 0) return pack_factors(blocks);
  auto packed = blocks_.begin();
  for (const ConstMatrixF U : blocks) (packed++)->weights.pack(U, Op::none, precision, rows);
}

void FactoredWeights::pack_factors(std::initializer_list<ConstMatrixF> blocks) {
  const dim_t D = blocks.begin()->cols;
  const MatrixF all = all_right_.reshape(static_cast<dim_t>(blocks.size()) * rank_, D);
  dim_t row = 0;
  auto packed = blocks_.begin();
  for (const ConstMatrixF U : blocks) {
    auto& [factors, weights] = *packed++;
    factors.fit(U, rank_, precision_);
    weights.pack(factors.left(), Op::none, precision_);
    copy_rows(factors.right(), all.middle_rows(row, rank_));
    row += rank_;
  }
  right_.pack(all, Op::none, precision_);
}

void FactoredWeights::add_product(std::initializer_list<OperandView> d, ProductScratch& scratch,
                                  MatrixF g) const {
  auto block = blocks_.begin();
  if (rank_ == 0) {
    for (const OperandView& part : d) gemm(part, (block++)->weights, Into::accumulate, g);
    return;
  }
  const MatrixF inner = scratch.inner.reshape(g.rows, static_cast<dim_t>(d.size()) * rank_);
  dim_t col = 0;
  for (const OperandView& part : d) {
    gemm(part, (block++)->weights, Into::overwrite, inner.middle_cols(col, rank_));
    col += rank_;
  }
  gemm(scratch.operand(inner, precision_), right_, Into::accumulate, g);
}

}  // namespace dsf
