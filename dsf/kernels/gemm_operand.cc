#include "dsf/kernels/gemm_operand.h"

#include <algorithm>
#include <cassert>

#include "dsf/kernels/bf16_rows.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/rows.h"
#include "hwy/highway.h"

namespace dsf {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr dim_t kSquare = 4;

// target [4, 4] = source [4, 4] transposed.
void transpose_square(const float* source, dim_t source_stride, float* target,
                      dim_t target_stride) {
  const hn::FixedTag<float, kSquare> d;
  const auto r0 = hn::LoadU(d, source);
  const auto r1 = hn::LoadU(d, source + source_stride);
  const auto r2 = hn::LoadU(d, source + 2 * source_stride);
  const auto r3 = hn::LoadU(d, source + 3 * source_stride);
  const auto lower01 = hn::InterleaveLower(d, r0, r1);  // 00 10 01 11
  const auto lower23 = hn::InterleaveLower(d, r2, r3);  // 20 30 21 31
  const auto upper01 = hn::InterleaveUpper(d, r0, r1);
  const auto upper23 = hn::InterleaveUpper(d, r2, r3);
  hn::StoreU(hn::ConcatLowerLower(d, lower23, lower01), d, target);
  hn::StoreU(hn::ConcatUpperUpper(d, lower23, lower01), d, target + target_stride);
  hn::StoreU(hn::ConcatLowerLower(d, upper23, upper01), d, target + 2 * target_stride);
  hn::StoreU(hn::ConcatUpperUpper(d, upper23, upper01), d, target + 3 * target_stride);
}

// target = source transposed, source [r, c], target [c, r].
void transpose(ConstMatrixF source, MatrixF target) {
  const dim_t whole_rows = source.rows / kSquare * kSquare;
  const dim_t whole_cols = source.cols / kSquare * kSquare;
  for (dim_t j = 0; j < whole_cols; j += kSquare) {
    for (dim_t i = 0; i < whole_rows; i += kSquare) {
      transpose_square(source.row(i) + j, source.stride, target.row(j) + i, target.stride);
    }
  }
  for (dim_t j = 0; j < source.cols; ++j) {
    for (dim_t i = j < whole_cols ? whole_rows : 0; i < source.rows; ++i) {
      target(j, i) = source(i, j);
    }
  }
}

void widen(MatrixView<const bf16_t> source, MatrixF target) {
  for (dim_t i = 0; i < source.rows; ++i) {
    const bf16_t* __restrict from = source.row(i);
    float* __restrict to = target.row(i);
    for (dim_t j = 0; j < source.cols; ++j) to[j] = to_float(from[j]);
  }
}

ConstMatrixF f32_view(const OperandView& x) {
  return {static_cast<const float*>(x.data), x.rows, x.cols, x.stride};
}

MatrixView<const bf16_t> bf16_view(const OperandView& x) {
  return {static_cast<const bf16_t*>(x.data), x.rows, x.cols, x.stride};
}

}  // namespace

OperandView op_block(Op op, const OperandView& x, dim_t row, dim_t rows, dim_t col, dim_t cols) {
  return op == Op::none ? x.block(row, rows, col, cols) : x.block(col, cols, row, rows);
}

void copy_op(Op op, const OperandView& x, MatrixF target) {
  if (op == Op::none && x.precision == Precision::f32) {
    copy_rows(f32_view(x), target);
  } else if (op == Op::none) {
    widen(bf16_view(x), target);
  } else if (x.precision == Precision::f32) {
    transpose(f32_view(x), target);
  } else {
    thread_local Buffer<float> wide;
    wide.ensure(x.rows * x.cols);
    const MatrixF plain(wide.data(), x.rows, x.cols);
    widen(bf16_view(x), plain);
    transpose(plain, target);
  }
}

Factor present(Op op, const OperandView& x, bool copy, Buffer<float>& scratch) {
  if (!copy) return {op, f32_view(x)};
  const dim_t rows = op_rows(op, x);
  const dim_t cols = op_cols(op, x);
  const dim_t stride = copy_stride(cols);
  scratch.ensure(rows * stride);
  const MatrixF target(scratch.data(), rows, cols, stride);
  copy_op(op, x, target);
  return {Op::none, target};
}

void convert_to_bf16(ConstMatrixF source, MatrixView<bf16_t> target) {
  constexpr dim_t kElementsPerTask = dim_t{1} << 16U;
  const dim_t grain = std::max<dim_t>(1, kElementsPerTask / std::max<dim_t>(1, source.cols));
  parallel_ranges(source.rows, grain, [&](dim_t begin, dim_t end) {
    for (dim_t i = begin; i < end; ++i) to_bf16_row(source.row(i), source.cols, target.row(i));
  });
}

bool is_trivial(dim_t k, Into into, MatrixF c) {
  if (c.empty()) return true;
  if (k > 0) return false;
  if (into == Into::overwrite) zero_rows(c);
  return true;
}

MatrixView<bf16_t> OperandScratch::reshape(dim_t rows, dim_t cols) {
  buffer_.ensure(rows * cols);
  return {buffer_.data(), rows, cols};
}

OperandView OperandScratch::operator()(ConstMatrixF source, Precision precision, bool is_here) {
  if (precision == Precision::f32) return source;
  assert(!is_here || buffer_.size() >= source.rows * source.cols);
  const MatrixView<bf16_t> target = reshape(source.rows, source.cols);
  if (!is_here) convert_to_bf16(source, target);
  return target;
}

}  // namespace dsf
