#pragma once

// Matrices in bf16 as the tiles of AMX hold them. A tile is 16 rows of 64 bytes, 1 KiB:
//
//   of a left factor A    16 rows of 32 numbers:                       a[i][k]
//   of a right factor B   16 pairs of rows, 16 columns of such pairs:  b[k/2][j][k%2]
//   of the product C      16 x 16 sums in f32:  c[i][j] += sum over k of a[i][k] b[k/2][j][k%2]
//
// Tiles at the edges are filled up with zeros. Packing needs AVX-512, nothing more.

#include "dsf/base/bf16.h"
#include "dsf/base/dim.h"
#include "dsf/kernels/gemm.h"

namespace dsf::amx {

inline constexpr dim_t kTileRows = 16;      ///< of A and C
inline constexpr dim_t kTileCols = 16;      ///< of B and C
inline constexpr dim_t kTileDepth = 32;     ///< columns of A, rows of B
inline constexpr dim_t kTileNumbers = 512;  ///< bf16

/// True if the CPU multiplies tiles of bf16 and the system lets this process do so.
bool available();

/// op(A) [m, k] as tiles: the tiles of 16 rows one after the other along k, then the next 16 rows.
void pack_left(Op op, const OperandView& a, bf16_t* tiles);

/// op(B) [k, n] as tiles: the tiles of 16 columns one after the other along k, then the next 16.
void pack_right(Op op, const OperandView& b, bf16_t* tiles);

}  // namespace dsf::amx
