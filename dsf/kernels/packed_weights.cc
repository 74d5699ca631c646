#include "dsf/kernels/packed_weights.h"

#include <cassert>

#include "dsf/kernels/amx_gemm.h"
#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/gemm_xsmm.h"
#include "dsf/kernels/panel_gemm.h"
#include "dsf/kernels/parallel.h"

namespace dsf {

struct PackedWeights::Impl {
  Precision precision = Precision::f32;
  dim_t rows = 0;
  dim_t cols = 0;

  PackedMultiplier multiplier = PackedMultiplier::panels;
  OperandScratch rounded;

  // If it does not pay to pack: plain_op(plain) is B.
  bool is_plain = false;
  Op plain_op = Op::none;
  OperandView plain;

  // Whichever the multiplier reads.
  amx::PackedRight amx_tiles;
  xsmm::PackedRight xsmm_panels;
  panels::PackedRight panels;

  // Packs the columns in parallel into one of them, which has the right shape already.
  template <typename Packed>
  void pack_into(ConstMatrixF source, Op op, Packed& packed) {
    const OperandView operand = rounded(source, precision);
    parallel_ranges(cols, kPanelCols, [&](dim_t begin, dim_t end) {
      packed.pack(op, op_block(op, operand, 0, rows, begin, end - begin), begin);
    });
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
  impl_->multiplier = packed_multiplier_of(precision);
  switch (impl_->multiplier) {
    case PackedMultiplier::amx:
      impl_->amx_tiles.reshape(impl_->rows, impl_->cols);
      return impl_->pack_into(source, op, impl_->amx_tiles);
    case PackedMultiplier::xsmm:
      impl_->xsmm_panels.reshape(precision, impl_->rows, impl_->cols);
      return impl_->pack_into(source, op, impl_->xsmm_panels);
    case PackedMultiplier::panels:
      impl_->panels.reshape(impl_->rows, impl_->cols);
      return impl_->pack_into(source, op, impl_->panels);
  }
}

namespace {

// The few rows of a step are shared out by columns, evenly; of many rows each tile takes so many that
// reading its columns of B pays.
TileGrid unit_tiles(dim_t m, dim_t n, dim_t k) {
  constexpr dim_t kFewRows = 128;
  constexpr dim_t kMostRows = 512;
  return m <= kFewRows ? choose_panel_tiles(m, n, k)
                       : choose_large_tiles(m, n, k, kMostRows, 2 * thread_count());
}

}  // namespace

void gemm(OperandView a, const PackedWeights& b, Into into, MatrixF c) {
  const PackedWeights::Impl& packed = b.impl();
  assert(a.precision == packed.precision && a.rows == c.rows);
  assert(a.cols == packed.rows && packed.cols == c.cols);
  if (packed.is_plain) return gemm(Op::none, a, packed.plain_op, packed.plain, into, c);
  if (is_trivial(a.cols, into, c)) return;
  const bool on_units = packed.multiplier == PackedMultiplier::amx;
  const TileGrid grid =
      on_units ? unit_tiles(c.rows, c.cols, a.cols) : choose_panel_tiles(c.rows, c.cols, a.cols);
  parallel_for(grid.count(), [&](dim_t task) {
    const Tile tile = on_units ? grid.by_columns(task) : grid[task];
    const OperandView rows = a.block(tile.row, tile.rows, 0, a.cols);
    switch (packed.multiplier) {
      case PackedMultiplier::amx:
        return packed.amx_tiles.multiply(rows, tile.col, into, block(c, tile));
      case PackedMultiplier::xsmm:
        return packed.xsmm_panels.multiply(rows, tile.col, into, block(c, tile));
      case PackedMultiplier::panels:
        return packed.panels.multiply(rows, tile.col, into, block(c, tile));
    }
  });
}

}  // namespace dsf
