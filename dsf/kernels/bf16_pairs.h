#pragma once

// Matrices in bf16 as instructions that multiply pairs read them. Both factors of A B hold two
// neighbours of the depth (a column of A, a row of B) in each 32 bits:
//
//   a left factor A [m, k] as rows:     a[i][k]
//   a right factor B [k, n] as pairs:   b[k/2][j][k%2]
//
// They are written in squares of 16 x 16 pairs, 16 lines of 64 bytes: 16 rows of A by 32 of the depth,
// or 32 of the depth by 16 columns of B. Squares at the edges are filled up with zeros. The functions
// may be called only if may_use(Isa::avx512), and run on the calling thread.

#include "dsf/base/bf16.h"
#include "dsf/base/dim.h"
#include "dsf/kernels/gemm.h"

namespace dsf {

inline constexpr dim_t kSquareSide = 16;   ///< rows of A, columns of B
inline constexpr dim_t kSquareDepth = 32;  ///< columns of A, rows of B

/// Where the squares go, in numbers from one to the next; all multiples of 32.
struct SquarePlaces {
  dim_t line = 0;   ///< the lines of a square
  dim_t depth = 0;  ///< squares one after the other in the depth
  dim_t side = 0;   ///< squares of the next 16 rows of A or columns of B
};

/// op(A) as rows. `target` is aligned to 64 bytes.
void pack_rows(Op op, const OperandView& a, const SquarePlaces& places, bf16_t* target);

/// op(B) as pairs. `target` is aligned to 64 bytes.
void pack_pairs(Op op, const OperandView& b, const SquarePlaces& places, bf16_t* target);

}  // namespace dsf
