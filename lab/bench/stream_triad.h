#pragma once

#include <span>

namespace dsf {

/// a = b + s c: McCalpin's STREAM triad, the yardstick of memory-bound kernels. Past the caches
/// with streaming stores, so that exactly three spans move: two in, one out. Parallel over fixed
/// ranges. `a`, `b`, `c` of equal length, aligned to 64 bytes; `a` is overwritten and overlaps
/// none.
void stream_triad(std::span<const float> b, std::span<const float> c, float s, std::span<float> a);

}  // namespace dsf
