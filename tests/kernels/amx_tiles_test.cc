// Matrices packed as AMX's tiles hold them, against the layout in the header.

#include "dsf/kernels/amx_tiles.h"

#include <gtest/gtest.h>

#include "dsf/base/buffer.h"
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

template <typename Body>
void for_all_shapes(Body body) {
  for (const Op op : {Op::none, Op::transpose}) {
    for (const dim_t rows : kSizes) {
      for (const dim_t cols : kSizes) body(op, Numbered(rows, cols));
    }
  }
}

TEST(AmxTiles, LeftFactorHoldsItsRows) {
  if (!available()) GTEST_SKIP() << "this CPU has no AMX";
  for_all_shapes([](Op op, const Numbered& x) {
    const dim_t down = ceil_div(op_rows(op, x.view), kTileRows);
    const dim_t along = ceil_div(op_cols(op, x.view), kTileDepth);
    Buffer<bf16_t> tiles(down * along * kTileNumbers);
    pack_left(op, x.view, tiles.data());
    for (dim_t place = 0; place < tiles.size(); ++place) {
      const dim_t tile = place / kTileNumbers;
      const dim_t row = tile / along * kTileRows + place % kTileNumbers / kTileDepth;
      const dim_t k = tile % along * kTileDepth + place % kTileDepth;
      ASSERT_EQ(tiles[place].bits, x.at(op, row, k)) << row << ", " << k;
    }
  });
}

TEST(AmxTiles, RightFactorHoldsPairsOfRows) {
  if (!available()) GTEST_SKIP() << "this CPU has no AMX";
  for_all_shapes([](Op op, const Numbered& x) {
    const dim_t along = ceil_div(op_rows(op, x.view), kTileDepth);
    const dim_t across = ceil_div(op_cols(op, x.view), kTileCols);
    Buffer<bf16_t> tiles(across * along * kTileNumbers);
    pack_right(op, x.view, tiles.data());
    for (dim_t place = 0; place < tiles.size(); ++place) {
      const dim_t tile = place / kTileNumbers;
      const dim_t pair = place % kTileNumbers / kTileDepth;
      const dim_t k = tile % along * kTileDepth + 2 * pair + place % 2;
      const dim_t col = tile / along * kTileCols + place % kTileDepth / 2;
      ASSERT_EQ(tiles[place].bits, x.at(op, k, col)) << k << ", " << col;
    }
  });
}

}  // namespace
}  // namespace dsf::amx
