#include "dsf/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>

#include "dsf/kernels/amx_gemm.h"
#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/gemm_tiles.h"
#include "dsf/kernels/gemm_xsmm.h"
#include "dsf/kernels/isa_cap.h"
#include "dsf/kernels/packed_weights.h"
#include "dsf/kernels/panel_gemm.h"
#include "dsf/kernels/parallel.h"
#include "dsf/kernels/rows.h"
#include "dsf/kernels/xsmm_kernels.h"

namespace dsf {
namespace {

// sums[0] += sums[1] + sums[2] + ..., in this order.
void add_up(std::span<const MatrixF> sums) {
  if (sums.size() < 2) return;
  constexpr dim_t kElementsPerTask = dim_t{1} << 14U;
  const MatrixF c = sums.front();
  parallel_ranges(c.rows, std::max<dim_t>(1, kElementsPerTask / c.cols),
                  [&](dim_t begin, dim_t end) {
                    for (dim_t i = begin; i < end; ++i) {
                      for (const MatrixF& term : sums.subspan(1)) {
                        add_row(term.row(i), c.cols, c.row(i));
                      }
                    }
                  });
}

}  // namespace

Bf16 bf16_by() {
  static const Bf16 by = [] {
    apply_isa_cap();
    if (amx::available()) return Bf16::amx;
    return xsmm::available(Precision::bf16) ? Bf16::avx512_bf16 : Bf16::emulated;
  }();
  return by;
}

std::string_view name_of(Bf16 bf16) {
  switch (bf16) {
    case Bf16::emulated:
      return "emulated";
    case Bf16::avx512_bf16:
      return "avx512_bf16";
    case Bf16::amx:
      return "amx";
  }
  return "";
}

bool has_fast_bf16() { return bf16_by() != Bf16::emulated; }

Multiplier multiplier_of(Precision precision, dim_t m) {
  if (precision == Precision::bf16 && bf16_by() == Bf16::amx) return Multiplier::amx;
  if (precision == Precision::bf16 && bf16_by() == Bf16::avx512_bf16) return Multiplier::xsmm;
  const bool few = precision == Precision::f32 && !PackedWeights::pays(m);
  return few ? Multiplier::few_rows : Multiplier::panels;
}

PackedMultiplier packed_multiplier_of(Precision precision) {
  if (precision == Precision::bf16 && bf16_by() == Bf16::amx) return PackedMultiplier::amx;
  return xsmm::available(precision) ? PackedMultiplier::xsmm : PackedMultiplier::panels;
}

void gemm(Op op_a, OperandView a, Op op_b, OperandView b, Into into, MatrixF c) {
  const dim_t k = op_cols(op_a, a);
  assert(a.precision == b.precision);
  assert(op_rows(op_a, a) == c.rows && op_cols(op_b, b) == c.cols && op_rows(op_b, b) == k);
  if (is_trivial(k, into, c)) return;
  const Multiplier multiplier = multiplier_of(a.precision, c.rows);
  const dim_t wanted = inside_parallel_task() ? 1 : 2 * thread_count();
  const ProductGrid grid = multiplier == Multiplier::few_rows
                               ? ProductGrid{choose_panel_tiles(c.rows, c.cols, k), {k, 1}}
                               : choose_packed_grid(c.rows, c.cols, k, wanted);
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

  parallel_for(grid.tasks(), [&](dim_t task) {
    const dim_t part = task / tiles.count();
    const Tile tile = tiles[task % tiles.count()];
    const dim_t begin = part * parts.depth;
    const dim_t depth = std::min(parts.depth, k - begin);
    const OperandView a_part = op_block(op_a, a, tile.row, tile.rows, begin, depth);
    const OperandView b_part = op_block(op_b, b, begin, depth, tile.col, tile.cols);
    const MatrixF sum = block(sums[static_cast<std::size_t>(part)], tile);
    const Into where = part == 0 ? into : Into::overwrite;
    switch (multiplier) {
      case Multiplier::amx:
        return amx::multiply(op_a, a_part, op_b, b_part, where, sum);
      case Multiplier::xsmm:
        return xsmm::multiply(op_a, a_part, op_b, b_part, where, sum);
      case Multiplier::panels:
        return panels::multiply(op_a, a_part, op_b, b_part, where, sum);
      case Multiplier::few_rows:
        return panels::multiply_few_rows(op_a, a_part, op_b, b_part, where, sum);
    }
  });
  add_up(std::span(sums).first(static_cast<std::size_t>(parts.count)));
}

}  // namespace dsf
