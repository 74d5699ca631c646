#include "dsf/kernels/amx_gemm.h"

#include <immintrin.h>

#include <algorithm>

#include "dsf/kernels/amx_thread_tiles.h"
#include "dsf/kernels/gemm_operand.h"
#include "dsf/kernels/rows.h"
#include "dsf/kernels/tile.h"

namespace dsf::amx {
namespace {

// Four tiles of sums share two tiles of A and two of B: each tile that is loaded is used twice.
constexpr dim_t kBlockRows = 2 * kTileRows;
constexpr dim_t kBlockCols = 2 * kTileCols;

// What is packed at a time, to stay in the second-level cache: 256 KiB of A, 1 MiB of 512 columns
// of B.
constexpr dim_t kPackedRows = 128;
constexpr dim_t kPackedDepth = 1024;

constexpr dim_t kTileStride = 64;  // bytes

// Where the tiles of A are: packed, or rows of A itself.
struct LeftTiles {
  const bf16_t* data;
  dim_t row_bytes;    // from row to row inside a tile
  dim_t depth_pitch;  // from tile to tile along the depth
  dim_t row_pitch;    // to the tiles of the next 16 rows
};

// Where the packed tiles of B are.
struct RightTiles {
  const bf16_t* data;
  dim_t col_pitch;  // to the tiles of the next 16 columns
};

// C (+)= A B for one or two rows of tiles of A and one or two columns of tiles of B.
template <bool kTwoRows, bool kTwoCols>
[[gnu::target("amx-tile,amx-bf16")]] void multiply_block(const LeftTiles& a, const RightTiles& b,
                                                         dim_t depth_tiles, Into into, float* c,
                                                         dim_t c_stride) {
  const dim_t stride = c_stride * dim_t{sizeof(float)};
  float* const below = c + kTileRows * c_stride;
  if (into == Into::accumulate) {
    _tile_loadd(0, c, stride);
    if constexpr (kTwoCols) _tile_loadd(1, c + kTileCols, stride);
    if constexpr (kTwoRows) _tile_loadd(2, below, stride);
    if constexpr (kTwoRows && kTwoCols) _tile_loadd(3, below + kTileCols, stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const bf16_t* left = a.data;
  const bf16_t* right = b.data;
  for (dim_t k = 0; k < depth_tiles; ++k) {
    _tile_loadd(6, right, kTileStride);
    _tile_loadd(4, left, a.row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoCols) {
      _tile_loadd(7, right + b.col_pitch, kTileStride);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kTwoRows) {
      _tile_loadd(5, left + a.row_pitch, a.row_bytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kTwoRows && kTwoCols) _tile_dpbf16ps(3, 5, 7);
    left += a.depth_pitch;
    right += kTileNumbers;
  }
  _tile_stored(0, c, stride);
  if constexpr (kTwoCols) _tile_stored(1, c + kTileCols, stride);
  if constexpr (kTwoRows) _tile_stored(2, below, stride);
  if constexpr (kTwoRows && kTwoCols) _tile_stored(3, below + kTileCols, stride);
}

void multiply_block(const LeftTiles& a, const RightTiles& b, dim_t depth_tiles, Into into,
                    MatrixF c) {
  const bool two_rows = c.rows > kTileRows;
  const bool two_cols = c.cols > kTileCols;
  const auto multiply =
      two_rows ? (two_cols ? multiply_block<true, true> : multiply_block<true, false>)
               : (two_cols ? multiply_block<false, true> : multiply_block<false, false>);
  if (c.rows % kTileRows == 0 && c.cols % kTileCols == 0) {
    multiply(a, b, depth_tiles, into, c.data, c.stride);
    return;
  }
  // A block at the edge: whole tiles beside C, of which C gets its part.
  alignas(64) float whole[kBlockRows * kBlockCols] = {};
  const MatrixF part(whole, c.rows, c.cols, kBlockCols);
  if (into == Into::accumulate) copy_rows(c, part);
  multiply(a, b, depth_tiles, into, whole, kBlockCols);
  copy_rows(part, c);
}

// C (+)= A B of tiles.
void multiply_tiles(LeftTiles a, const RightTiles& b, dim_t depth_tiles, Into into, MatrixF c) {
  for (dim_t i = 0; i < c.rows; i += kBlockRows) {
    RightTiles columns = b;
    for (dim_t j = 0; j < c.cols; j += kBlockCols) {
      multiply_block(
          a, columns, depth_tiles, into,
          block(c, {i, j, std::min(kBlockRows, c.rows - i), std::min(kBlockCols, c.cols - j)}));
      columns.data += 2 * b.col_pitch;
    }
    a.data += 2 * a.row_pitch;
  }
}

// Rows of A can be loaded where they are if they fill whole tiles, and if the 16 rows of a tile do
// not compete for the same few places of the first-level cache.
bool can_load_rows(Op op, const OperandView& a) {
  constexpr dim_t kSamePlace = 4096;  // bytes
  return op == Op::none && a.rows % kTileRows == 0 && a.cols % kTileDepth == 0 &&
         a.stride * dim_t{sizeof(bf16_t)} % kSamePlace != 0;
}

LeftTiles present_left(Op op, const OperandView& a) {
  if (can_load_rows(op, a)) {
    return {static_cast<const bf16_t*>(a.data), a.stride * dim_t{sizeof(bf16_t)}, kTileDepth,
            a.stride * kTileRows};
  }
  thread_local Buffer<bf16_t> packed(kPackedRows * kPackedDepth);
  pack_left(op, a, packed.data());
  return {packed.data(), kTileStride, kTileNumbers,
          ceil_div(op_cols(op, a), kTileDepth) * kTileNumbers};
}

// C (+)= op(A) B, with B [depth, n] as tiles.
void multiply_by_packed(Op op_a, const OperandView& a, RightTiles b, Into into, MatrixF c) {
  const dim_t depth = op_cols(op_a, a);
  const ThreadTiles tiles;
  for (dim_t k = 0; k < depth; k += kPackedDepth) {
    const dim_t deep = std::min(kPackedDepth, depth - k);
    const dim_t depth_tiles = ceil_div(deep, kTileDepth);
    for (dim_t i = 0; i < c.rows; i += kPackedRows) {
      const dim_t rows = std::min(kPackedRows, c.rows - i);
      const LeftTiles left = present_left(op_a, op_block(op_a, a, i, rows, k, deep));
      multiply_tiles(left, b, depth_tiles, into, c.middle_rows(i, rows));
    }
    b.data += depth_tiles * kTileNumbers;
    into = Into::accumulate;
  }
}

dim_t col_pitch(dim_t depth) { return ceil_div(depth, kTileDepth) * kTileNumbers; }

}  // namespace

void multiply(Op op_a, const OperandView& a, Op op_b, const OperandView& b, Into into, MatrixF c) {
  thread_local Buffer<bf16_t> packed;
  const dim_t depth = op_cols(op_a, a);
  for (dim_t k = 0; k < depth; k += kPackedDepth) {
    const dim_t deep = std::min(kPackedDepth, depth - k);
    packed.ensure(col_pitch(deep) * ceil_div(c.cols, kTileCols));
    pack_right(op_b, op_block(op_b, b, k, deep, 0, c.cols), packed.data());
    multiply_by_packed(op_a, op_block(op_a, a, 0, c.rows, k, deep),
                       {packed.data(), col_pitch(deep)}, into, c);
    into = Into::accumulate;
  }
}

void PackedRight::reshape(dim_t k, dim_t n) {
  col_pitch_ = col_pitch(k);
  tiles_.ensure(col_pitch_ * ceil_div(n, kTileCols));
}

void PackedRight::pack(Op op, const OperandView& part, dim_t col) {
  pack_right(op, part, tiles_.data() + col / kTileCols * col_pitch_);
}

void PackedRight::multiply(const OperandView& a, dim_t col, Into into, MatrixF c) const {
  multiply_by_packed(Op::none, a, {tiles_.data() + col / kTileCols * col_pitch_, col_pitch_}, into,
                     c);
}

}  // namespace dsf::amx
