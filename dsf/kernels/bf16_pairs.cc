#include "dsf/kernels/bf16_pairs.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

// GCC 12 takes the undefined registers of its own intrinsics for a mistake. Clang does not, and it does not know the second
// warning, which is a warning in itself.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace dsf {
namespace {

// The instructions of every CPU with matrix instructions for bf16. Whatever holds registers is inlined into one function.
#define DSF_WITH_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl")]]
#define DSF_INLINE_AVX512 [[gnu::always_inline, gnu::target("avx512f,avx512bw,avx512vl")]] inline

// 16 x 16 pairs of bf16, a row in each register.
struct Pairs {
  __m512i row[kSquareSide];
};

// The source runs along the depth of its squares or across it.
enum class Source { along_depth, across_depth };

// What of the source is in one square.
template <Source kSource>
struct Extent {
  static constexpr bool kAlong = kSource == Source::along_depth;
  static constexpr dim_t kRows = kAlong ? kSquareSide : kSquareDepth;
  static constexpr dim_t kCols = kAlong ? kSquareDepth : kSquareSide;

  dim_t rows = kRows;
  dim_t cols = kCols;

  bool whole() const { return rows == kRows && cols == kCols; }
};

using AlongDepth = Extent<Source::along_depth>;
using AcrossDepth = Extent<Source::across_depth>;

// Pairs lie side by side: row i is source row i.
DSF_INLINE_AVX512 void load(const bf16_t* source, dim_t stride, AlongDepth extent, Pairs& x) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << extent.cols) - 1);
  for (dim_t i = 0; i < kSquareSide; ++i) {
    x.row[i] = i < extent.rows ? _mm512_maskz_loadu_epi16(mask, source + i * stride)
                               : _mm512_setzero_si512();
  }
}

// The two numbers of a pair lie one above the other: row i joins source rows 2i and 2i + 1.
DSF_INLINE_AVX512 void load(const bf16_t* source, dim_t stride, AcrossDepth extent, Pairs& x) {
  const auto mask = static_cast<__mmask16>((1U << static_cast<unsigned>(extent.cols)) - 1);
  for (dim_t i = 0; i < kSquareSide; ++i) {
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
  __m512i y[kSquareSide];
  for (int i = 0; i < kSquareSide; i += 4) {
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
DSF_INLINE_AVX512 void pack_square(const bf16_t* source, dim_t stride, Extent<kSource> extent,
                                   dim_t line, bf16_t* square) {
  Pairs pairs;
  load(source, stride, extent, pairs);
  if constexpr (kTranspose) transpose(pairs);
  for (dim_t i = 0; i < kSquareSide; ++i) _mm512_store_si512(square + i * line, pairs.row[i]);
}

template <Source kSource, bool kTranspose>
DSF_WITH_AVX512 void pack(const OperandView& x, const SquarePlaces& places, bf16_t* target) {
  using Part = Extent<kSource>;
  const auto* const source = static_cast<const bf16_t*>(x.data);
  const dim_t down = Part::kAlong ? places.side : places.depth;
  const dim_t along = Part::kAlong ? places.depth : places.side;
  for (dim_t i = 0; i < x.rows; i += Part::kRows) {
    for (dim_t j = 0; j < x.cols; j += Part::kCols) {
      const Part part{std::min(Part::kRows, x.rows - i), std::min(Part::kCols, x.cols - j)};
      const bf16_t* corner = source + i * x.stride + j;
      bf16_t* square = target + i / Part::kRows * down + j / Part::kCols * along;
      if (part.whole()) {
        pack_square<kSource, kTranspose>(corner, x.stride, Part{}, places.line, square);
      } else {
        pack_square<kSource, kTranspose>(corner, x.stride, part, places.line, square);
      }
    }
  }
}

}  // namespace

void pack_rows(Op op, const OperandView& a, const SquarePlaces& places, bf16_t* target) {
  if (op == Op::none) {
    pack<Source::along_depth, false>(a, places, target);
  } else {
    pack<Source::across_depth, true>(a, places, target);
  }
}

void pack_pairs(Op op, const OperandView& b, const SquarePlaces& places, bf16_t* target) {
  if (op == Op::none) {
    pack<Source::across_depth, false>(b, places, target);
  } else {
    pack<Source::along_depth, true>(b, places, target);
  }
}

}  // namespace dsf
