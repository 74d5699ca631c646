#include "dsf/kernels/packed_weights.h"

#include <algorithm>
#include <cassert>

#include "dsf/kernels/amx_gemm.h"
#include "dsf/kernels/gemm_onednn.h"
#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/gemm_xsmm.h"
#include "dsf/kernels/parallel.h"

namespace dsf {

struct PackedWeights::Impl {
  Precision precision = Precision::f32;
  dim_t rows = 0;
  dim_t cols = 0;

  Multiplier multiplier = Multiplier::sgemm;
  OperandScratch rounded;

  // If it does not pay to pack: plain_op(plain) is B.
  bool is_plain = false;
  Op plain_op = Op::none;
  OperandView plain;

  // For AMX: tiles. For libxsmm: panels of its own.
  amx::PackedRight amx_tiles;
  xsmm::PackedRight xsmm_panels;

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

  // Packs the columns in parallel into one of the two above, which has the right shape already.
  template <typename Packed>
  void pack_into(ConstMatrixF source, Op op, Packed& packed) {
    const OperandView operand = rounded(source, precision);
    parallel_ranges(cols, kPanelCols, [&](dim_t begin, dim_t end) {
      packed.pack(op, op_block(op, operand, 0, rows, begin, end - begin), begin);
    });
  }

  void pack_for_sgemm(ConstMatrixF source, Op op) {
    panels.ensure(ceil_div(cols, kPanelCols) * rows * kStride);
    parallel_ranges(cols, kPanelCols, [&](dim_t begin, dim_t end) {
      const MatrixF target = panel(begin, end - begin);
      copy_op(op, op_block(op, source, 0, rows, begin, end - begin), target);
      if (precision == Precision::bf16) round_to_bf16(target);
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

void PackedWeights::pack(ConstMatrixF source, Op op, Precision precision, dim_t rows) {
  impl_->precision = precision;
  impl_->rows = op_rows(op, source);
  impl_->cols = op_cols(op, source);
  impl_->is_plain = !pays(rows);
  if (impl_->is_plain) {
    impl_->plain_op = op;
    impl_->plain = impl_->rounded(source, precision);
    return;
  }
  impl_->multiplier = multiplier_of(precision, RightOperand::packed);
  switch (impl_->multiplier) {
    case Multiplier::amx:
      impl_->amx_tiles.reshape(impl_->rows, impl_->cols);
      return impl_->pack_into(source, op, impl_->amx_tiles);
    case Multiplier::xsmm:
      impl_->xsmm_panels.reshape(precision, impl_->rows, impl_->cols);
      return impl_->pack_into(source, op, impl_->xsmm_panels);
    case Multiplier::sgemm:
      return impl_->pack_for_sgemm(source, op);
  }
}

namespace {

// The few rows of a step are shared out by columns, evenly; of many rows each tile takes so many that
// reading its columns of B pays.
TileGrid unit_tiles(dim_t m, dim_t n, dim_t k) {
  constexpr dim_t kFewRows = 128;
  constexpr dim_t kMostRows = 512;
  return m <= kFewRows ? choose_panel_tiles(m, n, k)
                       : choose_unit_tiles(m, n, k, kMostRows, 2 * thread_count());
}

}  // namespace

void gemm(OperandView a, const PackedWeights& b, Into into, MatrixF c) {
  const PackedWeights::Impl& packed = b.impl();
  assert(a.precision == packed.precision && a.rows == c.rows);
  assert(a.cols == packed.rows && packed.cols == c.cols);
  if (packed.is_plain) return gemm(Op::none, a, packed.plain_op, packed.plain, into, c);
  if (is_trivial(a.cols, into, c)) return;
  const bool on_units = packed.multiplier == Multiplier::amx;
  const TileGrid grid =
      on_units ? unit_tiles(c.rows, c.cols, a.cols) : choose_panel_tiles(c.rows, c.cols, a.cols);
  parallel_for(grid.count(), [&](dim_t task) {
    const Tile tile = on_units ? grid.by_columns(task) : grid[task];
    const OperandView rows = a.block(tile.row, tile.rows, 0, a.cols);
    switch (packed.multiplier) {
      case Multiplier::amx:
        return packed.amx_tiles.multiply(rows, tile.col, into, block(c, tile));
      case Multiplier::xsmm:
        return packed.xsmm_panels.multiply(rows, tile.col, into, block(c, tile));
      case Multiplier::sgemm:
        return packed.multiply_tile_by_sgemm(a, tile, into, c);
    }
  });
}

}  // namespace dsf
