#include "dsf/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <vector>

#include "dsf/kernels/gemm_onednn.h"
#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

MatrixF block(MatrixF c, const Tile& tile) {
  return c.middle_rows(tile.row, tile.rows).middle_cols(tile.col, tile.cols);
}

// A matrix that sgemm reads: op(view).
struct Factor {
  Op op;
  ConstMatrixF view;
};

// op(X) as it is, or as an f32 copy in `scratch`.
Factor present(Op op, const OperandView& x, bool copy, Buffer<float>& scratch) {
  if (!copy) return {op, {static_cast<const float*>(x.data), x.rows, x.cols, x.stride}};
  const dim_t rows = op_rows(op, x);
  const dim_t cols = op_cols(op, x);
  const dim_t stride = copy_stride(cols);
  scratch.ensure(rows * stride);
  const MatrixF target(scratch.data(), rows, cols, stride);
  copy_op(op, x, target);
  return {Op::none, target};
}

// A tile of C by sgemm. Its kernels are at their best with both matrices untransposed and the rows
// of B at a good distance. What is not so (or not f32) is copied piece by piece, where it meets
// enough of the other matrix to pay for the copy.
void multiply_tile(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into,
                   MatrixF c) {
  constexpr dim_t kCopyPays = 64;
  constexpr dim_t kCopyDepth = 256;  // the copies stay in the second-level cache
  thread_local Buffer<float> scratch_a;
  thread_local Buffer<float> scratch_b;
  const bool copy_a =
      a.precision == Precision::bf16 || (op_a == Op::transpose && c.cols >= kCopyPays);
  const bool copy_b = b.precision == Precision::bf16 ||
                      ((op_b == Op::transpose || is_slow_stride(b.stride)) && c.rows >= kCopyPays);
  const dim_t k = op_cols(op_a, a);
  const dim_t depth = copy_a || copy_b ? kCopyDepth : k;
  for (dim_t begin = 0; begin < k; begin += depth) {
    const dim_t deep = std::min(depth, k - begin);
    const Factor left = present(op_a, op_block(op_a, a, 0, c.rows, begin, deep), copy_a, scratch_a);
    const Factor right =
        present(op_b, op_block(op_b, b, begin, deep, 0, c.cols), copy_b, scratch_b);
    onednn::sgemm(left.op, left.view, right.op, right.view, into, c);
    into = Into::accumulate;
  }
}

// A tile of C on matrix units. False, with nothing done, where the backend cannot.
bool multiply_tile_on_units(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into,
                            MatrixF c) {
  constexpr dim_t kMostDepth = 2048;
  constexpr dim_t kLeastDepth = 64;
  const dim_t k = op_cols(op_a, a);
  for (dim_t begin = 0; begin < k;) {
    const dim_t depth = next_depth(k - begin, kMostDepth, kLeastDepth);
    if (!onednn::matmul(op_a, op_block(op_a, a, 0, c.rows, begin, depth), op_b,
                        op_block(op_b, b, begin, depth, 0, c.cols), into, c)) {
      if (begin == 0) return false;
      multiply_tile(op_a, op_block(op_a, a, 0, c.rows, begin, depth), op_b,
                    op_block(op_b, b, begin, depth, 0, c.cols), into, c);
    }
    into = Into::accumulate;
    begin += depth;
  }
  return true;
}

// True where there is nothing to multiply; C is then an empty sum.
bool is_trivial(dim_t k, Into into, MatrixF c) {
  if (c.empty()) return true;
  if (k > 0) return false;
  if (into == Into::overwrite) {
    for (dim_t i = 0; i < c.rows; ++i) std::fill_n(c.row(i), c.cols, 0.0F);
  }
  return true;
}

// sums[0] += sums[1] + sums[2] + ..., in this order.
void add_up(std::span<const MatrixF> sums) {
  if (sums.size() < 2) return;
  constexpr dim_t kElementsPerTask = dim_t{1} << 14U;
  const MatrixF c = sums.front();
  parallel_ranges(c.rows, std::max<dim_t>(1, kElementsPerTask / c.cols),
                  [&](dim_t begin, dim_t end) {
                    for (dim_t i = begin; i < end; ++i) {
                      for (const MatrixF& term : sums.subspan(1)) {
                        const float* __restrict from = term.row(i);
                        float* __restrict to = c.row(i);
                        for (dim_t j = 0; j < c.cols; ++j) to[j] += from[j];
                      }
                    }
                  });
}

}  // namespace

bool has_fast_bf16() { return onednn::has_amx(); }

void gemm(Op op_a, OperandView a, Op op_b, OperandView b, Into into, MatrixF c) {
  const dim_t k = op_cols(op_a, a);
  assert(a.precision == b.precision);
  assert(op_rows(op_a, a) == c.rows && op_cols(op_b, b) == c.cols && op_rows(op_b, b) == k);
  if (is_trivial(k, into, c)) return;
  const CopiedGrid grid = choose_copied_grid(c.rows, c.cols, k);
  const TileGrid& tiles = grid.tiles;
  const DepthParts& parts = grid.parts;

  // Part 0 of the inner dimension goes to C, each other one to a matrix of its own.
  thread_local Buffer<float> scratch;
  scratch.ensure((parts.count - 1) * c.rows * c.cols);
  std::array<MatrixF, DepthParts::kMost> sums = {c};
  for (dim_t p = 1; p < parts.count; ++p) {
    sums[static_cast<std::size_t>(p)] = {scratch.data() + (p - 1) * c.rows * c.cols, c.rows,
                                         c.cols};
  }

  const bool on_units = a.precision == Precision::bf16 && has_fast_bf16();
  parallel_for(grid.tasks(), [&](dim_t task) {
    const dim_t part = task / tiles.count();
    const Tile tile = tiles[task % tiles.count()];
    const dim_t begin = part * parts.depth;
    const dim_t depth = std::min(parts.depth, k - begin);
    const OperandView a_part = op_block(op_a, a, tile.row, tile.rows, begin, depth);
    const OperandView b_part = op_block(op_b, b, begin, depth, tile.col, tile.cols);
    const MatrixF sum = block(sums[static_cast<std::size_t>(part)], tile);
    const Into where = part == 0 ? into : Into::overwrite;
    if (on_units && multiply_tile_on_units(op_a, a_part, op_b, b_part, where, sum)) return;
    multiply_tile(op_a, a_part, op_b, b_part, where, sum);
  });
  add_up(std::span(sums).first(static_cast<std::size_t>(parts.count)));
}

struct PackedWeights::Impl {
  Precision precision = Precision::f32;
  dim_t rows = 0;
  dim_t cols = 0;

  // For matrix units: panels in the backend's own layout.
  std::vector<onednn::PackedPanel> unit_panels;
  OperandScratch rounded;

  // For sgemm: panels of kPanelCols columns, rows at a good distance, one panel after the other. In
  // bf16 these are the rounded values.
  static constexpr dim_t kStride = copy_stride(kPanelCols);
  Buffer<float> panels;

  MatrixF panel(dim_t col, dim_t width) {
    return {panels.data() + offset(col), rows, width, kStride};
  }
  ConstMatrixF panel(dim_t col, dim_t width) const {
    return {panels.data() + offset(col), rows, width, kStride};
  }
  dim_t offset(dim_t col) const { return col / kPanelCols * rows * kStride; }

  void pack_for_units(ConstMatrixF source, Op op) {
    const OperandView narrow = rounded(source, precision);
    const dim_t width = unit_panel_cols(cols);
    unit_panels.resize(static_cast<std::size_t>(task_count(cols, width)));
    parallel_ranges(cols, width, [&](dim_t begin, dim_t end) {
      unit_panels[static_cast<std::size_t>(begin / width)].pack(
          op, op_block(op, narrow, 0, rows, begin, end - begin));
    });
  }

  void pack_for_sgemm(ConstMatrixF source, Op op) {
    unit_panels.clear();
    panels.ensure(task_count(cols, kPanelCols) * rows * kStride);
    parallel_ranges(cols, kPanelCols, [&](dim_t begin, dim_t end) {
      const MatrixF target = panel(begin, end - begin);
      copy_op(op, op_block(op, source, 0, rows, begin, end - begin), target);
      if (precision == Precision::bf16) round_to_bf16(target);
    });
  }

  void multiply_on_units(const OperandView& a, Into into, MatrixF c) const {
    const dim_t width = unit_panel_cols(cols);
    TileGrid grid = choose_panel_tiles(c.rows, c.cols, rows);
    grid = {c.rows, c.cols, std::min<dim_t>(grid.rows, 128), width};
    parallel_for(grid.count(), [&](dim_t task) {
      const Tile tile = grid[task];
      unit_panels[static_cast<std::size_t>(tile.col / width)].multiply(
          op_block(Op::none, a, tile.row, tile.rows, 0, rows), into, block(c, tile));
    });
  }

  // One tile: all its panels with a piece of A, then the next piece.
  void multiply_tile_by_sgemm(const OperandView& a, const Tile& tile, Into into, MatrixF c) const {
    constexpr dim_t kCopyDepth = 1024;
    thread_local Buffer<float> scratch;
    const bool copy = a.precision == Precision::bf16;
    const dim_t depth = copy ? kCopyDepth : rows;
    for (dim_t begin = 0; begin < rows; begin += depth) {
      const dim_t deep = std::min(depth, rows - begin);
      const OperandView piece = op_block(Op::none, a, tile.row, tile.rows, begin, deep);
      const Factor left = present(Op::none, piece, copy, scratch);
      for (dim_t col = tile.col; col < tile.col + tile.cols; col += kPanelCols) {
        const dim_t width = std::min(kPanelCols, tile.col + tile.cols - col);
        onednn::sgemm(left.op, left.view, Op::none, panel(col, width).middle_rows(begin, deep),
                      into, block(c, {tile.row, col, tile.rows, width}));
      }
      into = Into::accumulate;
    }
  }
};

PackedWeights::PackedWeights() : impl_(std::make_unique<Impl>()) {}
PackedWeights::~PackedWeights() = default;
PackedWeights::PackedWeights(PackedWeights&&) noexcept = default;
PackedWeights& PackedWeights::operator=(PackedWeights&&) noexcept = default;

void PackedWeights::pack(ConstMatrixF source, Op op, Precision precision) {
  impl_->precision = precision;
  impl_->rows = op_rows(op, source);
  impl_->cols = op_cols(op, source);
  if (precision == Precision::bf16 && has_fast_bf16() && !source.empty()) {
    impl_->pack_for_units(source, op);
  } else {
    impl_->pack_for_sgemm(source, op);
  }
}

void gemm(OperandView a, const PackedWeights& b, Into into, MatrixF c) {
  const PackedWeights::Impl& packed = b.impl();
  assert(a.precision == packed.precision && a.rows == c.rows);
  assert(a.cols == packed.rows && packed.cols == c.cols);
  if (is_trivial(a.cols, into, c)) return;
  if (!packed.unit_panels.empty()) return packed.multiply_on_units(a, into, c);
  const TileGrid grid = choose_panel_tiles(c.rows, c.cols, a.cols);
  parallel_for(grid.count(),
               [&](dim_t task) { packed.multiply_tile_by_sgemm(a, grid[task], into, c); });
}

}  // namespace dsf
