#include "dsf/kernels/amx_tiles.h"

#include <asm/prctl.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "dsf/base/cpu_info.h"

// GCC 12 takes the undefined registers of its own intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

namespace dsf::amx {
namespace {

// The instructions of every CPU that has AMX. Whatever holds registers is inlined into one function.
#define DSF_WITH_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl")]]
#define DSF_INLINE_AVX512 [[gnu::always_inline, gnu::target("avx512f,avx512bw,avx512vl")]] inline

// 16 x 16 pairs of bf16, a row in each register.
struct Pairs {
  __m512i row[kTileRows];
};

// The source runs along the depth of its tiles or across it.
enum class Source { along_depth, across_depth };

// What of the source is in one tile.
template <Source kSource>
struct Extent {
  static constexpr bool kAlong = kSource == Source::along_depth;
  static constexpr dim_t kRows = kAlong ? kTileRows : kTileDepth;
  static constexpr dim_t kCols = kAlong ? kTileDepth : kTileCols;

  dim_t rows = kRows;
  dim_t cols = kCols;

  bool whole() const { return rows == kRows && cols == kCols; }
};

using AlongDepth = Extent<Source::along_depth>;
using AcrossDepth = Extent<Source::across_depth>;

// Pairs lie side by side: row i is source row i.
DSF_INLINE_AVX512 void load(const bf16_t* source, dim_t stride, AlongDepth extent, Pairs& x) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << extent.cols) - 1);
  for (dim_t i = 0; i < kTileRows; ++i) {
    x.row[i] = i < extent.rows ? _mm512_maskz_loadu_epi16(mask, source + i * stride)
                               : _mm512_setzero_si512();
  }
}

// The two numbers of a pair lie one above the other: row i joins source rows 2i and 2i + 1.
DSF_INLINE_AVX512 void load(const bf16_t* source, dim_t stride, AcrossDepth extent, Pairs& x) {
  const auto mask = static_cast<__mmask16>((1U << static_cast<unsigned>(extent.cols)) - 1);
  for (dim_t i = 0; i < kTileRows; ++i) {
    const bf16_t* upper = source + 2 * i * stride;
    x.row[i] = _mm512_setzero_si512();
    if (2 * i < extent.rows) {
      x.row[i] = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, upper));
    }
    if (2 * i + 1 < extent.rows) {
      const __m512i lower = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, upper + stride));
      x.row[i] = _mm512_or_si512(x.row[i], _mm512_slli_epi32(lower, 16));
    }
  }
}

// Columns become rows: first within squares of 4 x 4 pairs, then the squares.
DSF_INLINE_AVX512 void transpose(Pairs& x) {
  __m512i y[kTileRows];
  for (int i = 0; i < kTileRows; i += 4) {
    const __m512i low01 = _mm512_unpacklo_epi32(x.row[i], x.row[i + 1]);
    const __m512i high01 = _mm512_unpackhi_epi32(x.row[i], x.row[i + 1]);
    const __m512i low23 = _mm512_unpacklo_epi32(x.row[i + 2], x.row[i + 3]);
    const __m512i high23 = _mm512_unpackhi_epi32(x.row[i + 2], x.row[i + 3]);
    y[i] = _mm512_unpacklo_epi64(low01, low23);
    y[i + 1] = _mm512_unpackhi_epi64(low01, low23);
    y[i + 2] = _mm512_unpacklo_epi64(high01, high23);
    y[i + 3] = _mm512_unpackhi_epi64(high01, high23);
  }
  for (int i = 0; i < 4; ++i) {
    const __m512i even01 = _mm512_shuffle_i32x4(y[i], y[i + 4], 0x88);
    const __m512i odd01 = _mm512_shuffle_i32x4(y[i], y[i + 4], 0xDD);
    const __m512i even23 = _mm512_shuffle_i32x4(y[i + 8], y[i + 12], 0x88);
    const __m512i odd23 = _mm512_shuffle_i32x4(y[i + 8], y[i + 12], 0xDD);
    x.row[i] = _mm512_shuffle_i32x4(even01, even23, 0x88);
    x.row[i + 4] = _mm512_shuffle_i32x4(odd01, odd23, 0x88);
    x.row[i + 8] = _mm512_shuffle_i32x4(even01, even23, 0xDD);
    x.row[i + 12] = _mm512_shuffle_i32x4(odd01, odd23, 0xDD);
  }
}

template <Source kSource, bool kTranspose>
DSF_INLINE_AVX512 void pack_tile(const bf16_t* source, dim_t stride, Extent<kSource> extent,
                                 bf16_t* tile) {
  Pairs pairs;
  load(source, stride, extent, pairs);
  if constexpr (kTranspose) transpose(pairs);
  for (dim_t i = 0; i < kTileRows; ++i) _mm512_store_si512(tile + i * kTileDepth, pairs.row[i]);
}

template <Source kSource, bool kTranspose>
DSF_WITH_AVX512 void pack(const OperandView& x, bf16_t* tiles) {
  using Part = Extent<kSource>;
  const auto* const source = static_cast<const bf16_t*>(x.data);
  const dim_t depth_tiles = ceil_div(Part::kAlong ? x.cols : x.rows, kTileDepth);
  for (dim_t i = 0; i < x.rows; i += Part::kRows) {
    for (dim_t j = 0; j < x.cols; j += Part::kCols) {
      const Part part{std::min(Part::kRows, x.rows - i), std::min(Part::kCols, x.cols - j)};
      const dim_t down = i / Part::kRows;
      const dim_t along = j / Part::kCols;
      const dim_t place = Part::kAlong ? down * depth_tiles + along : along * depth_tiles + down;
      const bf16_t* corner = source + i * x.stride + j;
      bf16_t* tile = tiles + place * kTileNumbers;
      if (part.whole()) {
        pack_tile<kSource, kTranspose>(corner, x.stride, Part{}, tile);
      } else {
        pack_tile<kSource, kTranspose>(corner, x.stride, part, tile);
      }
    }
  }
}

}  // namespace

bool available() {
  static const bool granted = [] {
    if (!cpu_has("amx_tile") || !cpu_has("amx_bf16") || !cpu_has("avx512f")) return false;
    constexpr unsigned long kTileData = 18;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, kTileData) == 0;
  }();
  return granted;
}

// Tiles of A hold the depth in their rows, tiles of B down their columns.
void pack_left(Op op, const OperandView& a, bf16_t* tiles) {
  if (op == Op::none) {
    pack<Source::along_depth, false>(a, tiles);
  } else {
    pack<Source::across_depth, true>(a, tiles);
  }
}

void pack_right(Op op, const OperandView& b, bf16_t* tiles) {
  if (op == Op::none) {
    pack<Source::across_depth, false>(b, tiles);
  } else {
    pack<Source::along_depth, true>(b, tiles);
  }
}

}  // namespace dsf::amx
