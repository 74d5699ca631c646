#include "dsf/kernels/gemm_xsmm.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "dsf/kernels/bf16_pairs.h"
#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/panel_gemm.h"
#include "dsf/kernels/tile.h"
#include "dsf/kernels/xsmm_kernels.h"

namespace dsf::xsmm {
namespace {

constexpr dim_t kRowBlock = 32;  // rows of C that a kernel computes; what is left over has its own

// Rows of a panel: in bf16 whole squares of pairs.
dim_t panel_depth(Precision precision, dim_t depth) {
  return precision == Precision::f32 ? depth : round_up(depth, kSquareDepth);
}

dim_t panel_bytes(Precision precision, dim_t depth) {
  return panel_depth(precision, depth) * kPanelCols * element_bytes(precision);
}

// op(B), of at most kPanelCols columns, as one panel: f32 row by row, bf16 in pairs.
void pack_panel(Op op, const OperandView& b, std::byte* panel) {
  if (b.precision == Precision::f32) {
    copy_op(op, b,
            MatrixF(reinterpret_cast<float*>(panel), op_rows(op, b), op_cols(op, b), kPanelCols));
    return;
  }
  constexpr dim_t kLine = 2 * kPanelCols;
  pack_pairs(op, b, {kLine, kSquareDepth / 2 * kLine, 2 * kSquareSide},
             reinterpret_cast<bf16_t*>(panel));
}

// op(B) as panels.
void pack_panels(Op op, const OperandView& b, dim_t bytes, std::byte* panels) {
  const dim_t cols = op_cols(op, b);
  for (dim_t col = 0; col < cols; col += kPanelCols) {
    const dim_t width = std::min(kPanelCols, cols - col);
    pack_panel(op, op_block(op, b, 0, op_rows(op, b), col, width),
               panels + col / kPanelCols * bytes);
  }
}

// A kernel reads rows of A where they are, in bf16 pair by pair: from row to row it goes by whole pairs.
bool can_read_rows(Op op, const OperandView& a) {
  const bool in_pairs = a.cols % 2 == 0 && a.stride % 2 == 0;
  return op == Op::none && (a.precision == Precision::f32 || in_pairs);
}

// op(A) as rows that a kernel can read: A itself or, in bf16 alone, a copy that is filled up with zeros
// to whole squares and valid until this thread's next call.
OperandView present_rows(Op op, const OperandView& a) {
  if (can_read_rows(op, a)) return a;
  assert(a.precision == Precision::bf16);
  thread_local Buffer<bf16_t> packed;
  const dim_t rows = op_rows(op, a);
  const dim_t depth = round_up(op_cols(op, a), kSquareDepth);
  const dim_t stride = 2 * copy_stride(depth / 2);  // of floats, which are pairs
  packed.ensure(round_up(rows, kSquareSide) * stride);
  pack_rows(op, a, {stride, kSquareDepth, kSquareSide * stride}, packed.data());
  return MatrixView<const bf16_t>(packed.data(), rows, depth, stride);
}

// Where the panels of B are, from the first row that is multiplied on.
struct Panels {
  const std::byte* data;
  dim_t bytes;  // from one panel to the next
};

// C (+)= A B. A has as many columns as the panels have rows here.
void multiply_panels(const OperandView& a, const Panels& b, Into into, MatrixF c) {
  KernelShape shape{a.precision, into, 0, 0, a.cols, a.stride, kPanelCols, c.stride};
  const dim_t last_rows = c.rows % kRowBlock;
  const dim_t last_cols = c.cols % kPanelCols;
  std::array<std::array<Kernel, 2>, 2> kernels = {};  // [last rows?][last columns?]
  for (const bool bottom : {false, true}) {
    for (const bool right : {false, true}) {
      shape.rows = bottom ? last_rows : std::min(kRowBlock, c.rows - last_rows);
      shape.cols = right ? last_cols : std::min(kPanelCols, c.cols - last_cols);
      if (shape.rows > 0 && shape.cols > 0) kernels[bottom][right] = find_kernel(shape);
    }
  }
  for (dim_t j = 0; j < c.cols; j += kPanelCols) {
    const std::byte* panel = b.data + j / kPanelCols * b.bytes;
    const bool right = c.cols - j < kPanelCols;
    for (dim_t i = 0; i < c.rows; i += kRowBlock) {
      const bool bottom = c.rows - i < kRowBlock;
      const Kernel kernel = kernels[bottom][right];
      if (kernel != nullptr) {
        kernel(panel, a.at(i, 0), c.row(i) + j);
      } else {
        const dim_t rows = std::min(kRowBlock, c.rows - i);
        multiply_without_kernel(a.block(i, rows, 0, a.cols), panel, into,
                                block(c, {i, j, rows, std::min(kPanelCols, c.cols - j)}));
      }
    }
  }
}

}  // namespace

void multiply_without_kernel(const OperandView& a, const std::byte* panel, Into into, MatrixF c) {
  thread_local Buffer<float> left;
  thread_local Buffer<float> right;
  right.ensure(a.cols * kPanelCols);
  const MatrixF b(right.data(), a.cols, c.cols, kPanelCols);
  for (dim_t k = 0; k < b.rows; ++k) {
    for (dim_t j = 0; j < b.cols; ++j) {
      b(k, j) = a.precision == Precision::f32
                    ? reinterpret_cast<const float*>(panel)[k * kPanelCols + j]
                    : to_float(reinterpret_cast<const bf16_t*>(
                          panel)[(k / 2 * kPanelCols + j) * 2 + k % 2]);
    }
  }
  panels::multiply(Op::none, present(Op::none, a, true, left).view, Op::none, b, into, c);
}

// Each piece of B is packed once for all rows of C, and meets some of A's at a time.
void multiply(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c) {
  constexpr dim_t kMostDeep = 512;
  constexpr dim_t kMostRows = 256;  // of A, packed, with a panel in the second-level cache
  assert(a.precision == Precision::bf16);
  thread_local Buffer<std::byte> panels;
  const dim_t depth = op_cols(op_a, a);
  for (dim_t k = 0; k < depth; k += kMostDeep) {
    const dim_t deep = std::min(kMostDeep, depth - k);
    const dim_t bytes = panel_bytes(b.precision, deep);
    panels.ensure(bytes * ceil_div(c.cols, kPanelCols));
    pack_panels(op_b, op_block(op_b, b, k, deep, 0, c.cols), bytes, panels.data());
    for (dim_t row = 0; row < c.rows; row += kMostRows) {
      const MatrixF part = c.middle_rows(row, std::min(kMostRows, c.rows - row));
      const OperandView rows = present_rows(op_a, op_block(op_a, a, row, part.rows, k, deep));
      multiply_panels(rows, {panels.data(), bytes}, into, part);
    }
    into = Into::accumulate;
  }
}

void PackedRight::reshape(Precision precision, dim_t k, dim_t n) {
  panel_bytes_ = panel_bytes(precision, k);
  panels_.ensure(panel_bytes_ * ceil_div(n, kPanelCols));
}

void PackedRight::pack(Op op, const OperandView& part, dim_t col) {
  pack_panels(op, part, panel_bytes_, panels_.data() + col / kPanelCols * panel_bytes_);
}

void PackedRight::multiply(const OperandView& a, dim_t col, Into into, MatrixF c) const {
  constexpr dim_t kMostDeep = 1024;  // a panel and its rows of A stay in the second-level cache
  const std::byte* panels = panels_.data() + col / kPanelCols * panel_bytes_;
  for (dim_t k = 0; k < a.cols; k += kMostDeep) {
    const dim_t deep = std::min(kMostDeep, a.cols - k);
    const OperandView rows = present_rows(Op::none, a.block(0, a.rows, k, deep));
    multiply_panels(rows, {panels + k * kPanelCols * element_bytes(a.precision), panel_bytes_},
                    into, c);
    into = Into::accumulate;
  }
}

}  // namespace dsf::xsmm
