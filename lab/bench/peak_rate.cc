#include "lab/bench/peak_rate.h"

#include <immintrin.h>

#include "dsf/base/buffer.h"
#include "dsf/base/timer.h"
#include "dsf/kernels/amx_thread_tiles.h"
#include "dsf/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lab/bench/peak_rate.cc"
#include "hwy/foreach_target.h"  // must come before highway.h

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dsf::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Independent sums: more than the latency of a multiply-add times the units that there are.
constexpr int kSums = 12;

// Returns the operations of a round. The sums start from memory, so that they differ to the compiler.
dim_t vector_multiply_adds(dim_t rounds, float* sums) {
  const hn::CappedTag<float, 16> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(hn::CappedTag<float, 16>()));
  hn::Vec<decltype(d)> sum[kSums];
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) sum[i] = hn::LoadU(d, sums + i * kLanes);
  const auto x = hn::Set(d, 0.5F);
  for (dim_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sum[i] = hn::MulAdd(sum[i], x, x);
  }
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) hn::StoreU(sum[i], d, sums + i * kLanes);
  return dim_t{2} * kSums * kLanes;
}

}  // namespace dsf::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dsf {
namespace {

HWY_EXPORT(vector_multiply_adds);

constexpr dim_t kSumNumbers = 4 * 256;  // four tiles; twelve vectors are fewer

dim_t on_vectors(dim_t rounds, float* sums) {
  return HWY_DYNAMIC_DISPATCH(vector_multiply_adds)(rounds, sums);
}

[[gnu::target("avx512f,avx512bf16")]] dim_t on_bf16_vectors(dim_t rounds, float* sums) {
  constexpr int kLanes = 16;
  constexpr int kVectors = 12;
  __m512 sum[kVectors];
#pragma GCC unroll 12
  for (int i = 0; i < kVectors; ++i) sum[i] = _mm512_loadu_ps(sums + i * kLanes);
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3F80));
  for (dim_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kVectors; ++i) sum[i] = _mm512_dpbf16_ps(sum[i], ones, ones);
  }
#pragma GCC unroll 12
  for (int i = 0; i < kVectors; ++i) _mm512_storeu_ps(sums + i * kLanes, sum[i]);
  return dim_t{2} * kVectors * 2 * kLanes;
}

// Four tiles of sums, zeros times zeros: the time of a product does not depend on its numbers.
[[gnu::target("amx-tile,amx-bf16")]] dim_t on_tiles(dim_t rounds, float* sums) {
  constexpr dim_t kTile = 16 * 16;
  constexpr dim_t kStride = 64;  // bytes
  const amx::ThreadTiles tiles;
  _tile_loadd(0, sums, kStride);
  _tile_loadd(1, sums + kTile, kStride);
  _tile_loadd(2, sums + 2 * kTile, kStride);
  _tile_loadd(3, sums + 3 * kTile, kStride);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (dim_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, kStride);
  _tile_stored(1, sums + kTile, kStride);
  _tile_stored(2, sums + 2 * kTile, kStride);
  _tile_stored(3, sums + 3 * kTile, kStride);
  return dim_t{2} * 4 * kTile * 32;
}

// A run is long enough for a sleeping thread to wake up in it.
constexpr dim_t kRounds = dim_t{1} << 18U;
constexpr dim_t kTasksPerThread = 32;

}  // namespace

PeakRate::PeakRate(Precision precision) : multiply_adds_(on_vectors) {
  if (precision == Precision::bf16) {
    switch (bf16_by()) {
      case Bf16::amx:
        multiply_adds_ = on_tiles;
        break;
      case Bf16::avx512_bf16:
        multiply_adds_ = on_bf16_vectors;
        break;
      case Bf16::emulated:
        break;
    }
  }
  Buffer<float> sums(kSumNumbers);
  flops_ = static_cast<double>(multiply_adds_(1, sums.data()) * kRounds * kTasksPerThread *
                               thread_count());
}

double PeakRate::run() {
  const Timer timer;
  parallel_for(kTasksPerThread * thread_count(), [this](dim_t) {
    thread_local Buffer<float> sums;
    sums.ensure(kSumNumbers);
    multiply_adds_(kRounds, sums.data());
  });
  return timer.seconds();
}

}  // namespace dsf
#endif  // HWY_ONCE
