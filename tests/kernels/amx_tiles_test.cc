// Matrices packed as AMX's tiles hold them, against the layout in the header.

#include "dsf/kernels/amx_tiles.h"

#include <gtest/gtest.h>

#include "dsf/base/buffer.h"
#include "dsf/base/max_isa.h"
#include "dsf/kernels/gemm_operand.h"

namespace dsf::amx {
namespace {

// [rows, cols] inside a wider matrix, every element another number.
struct Numbered {
  Numbered(dim_t rows, dim_t cols) : numbers(rows * (cols + 3)) {
    for (dim_t i = 0; i < numbers.size(); ++i) numbers[i].bits = static_cast<std::uint16_t>(i + 1);
    view = MatrixView<const bf16_t>(numbers.data(), rows, cols, cols + 3);
  }
  std::uint16_t at(Op op, dim_t row, dim_t col) const {
    if (row >= op_rows(op, view) || col >= op_cols(op, view)) return 0;
    return op == Op::none ? view(row, col).bits : view(col, row).bits;
  }

  Buffer<bf16_t> numbers;
  MatrixView<const bf16_t> view;
};

constexpr dim_t kSizes[] = {1, 15, 16, 17, 31, 32, 33, 70};

struct Place {
  dim_t row;
  dim_t col;
};

// Packs op(X) of many shapes. A tile covers `down` rows and `along` columns of op(X); what_is_at(tile,
// tiles in the depth, place in the tile) names the element of op(X) that belongs there.
template <typename Pack, typename WhatIsAt>
void expect_layout(dim_t down, dim_t along, Pack pack, WhatIsAt what_is_at) {
  for (const Op op : {Op::none, Op::transpose}) {
    for (const dim_t rows : kSizes) {
      for (const dim_t cols : kSizes) {
        const Numbered x(rows, cols);
        const dim_t tiles_down = ceil_div(op_rows(op, x.view), down);
        const dim_t tiles_along = ceil_div(op_cols(op, x.view), along);
        Buffer<bf16_t> tiles(tiles_down * tiles_along * kTileNumbers);
        pack(op, x.view, tiles.data());
        for (dim_t i = 0; i < tiles.size(); ++i) {
          const dim_t in_depth = down == kTileDepth ? tiles_down : tiles_along;
          const Place at = what_is_at(i / kTileNumbers, in_depth, i % kTileNumbers);
          ASSERT_EQ(tiles[i].bits, x.at(op, at.row, at.col)) << at.row << ", " << at.col;
        }
      }
    }
  }
}

TEST(AmxTiles, LeftFactorHoldsItsRows) {
  if (!may_use(Isa::avx512)) GTEST_SKIP() << "packing needs AVX-512";
  expect_layout(kTileRows, kTileDepth, pack_left, [](dim_t tile, dim_t in_depth, dim_t place) {
    return Place{tile / in_depth * kTileRows + place / kTileDepth,
                 tile % in_depth * kTileDepth + place % kTileDepth};
  });
}

TEST(AmxTiles, RightFactorHoldsPairsOfRows) {
  if (!may_use(Isa::avx512)) GTEST_SKIP() << "packing needs AVX-512";
  expect_layout(kTileDepth, kTileCols, pack_right, [](dim_t tile, dim_t in_depth, dim_t place) {
    const dim_t pair = place / kTileDepth;
    return Place{tile % in_depth * kTileDepth + 2 * pair + place % 2,
                 tile / in_depth * kTileCols + place % kTileDepth / 2};
  });
}

}  // namespace
}  // namespace dsf::amx
