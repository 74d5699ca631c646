#pragma once

#include "lab/bench/measure.h"

namespace dsf {

/// The forms of the reverse diagonal scan over sequences of growing length, the number of tokens
/// held constant, in bytes a second beside a STREAM triad. A scan in place moves each number twice:
/// in and out. Uses options only (serial, blocked, fft), steps, hidden (the first: the width),
/// tokens, seconds.
BenchReport bench_scan(const BenchOptions& options);

}  // namespace dsf
