#pragma once

#include <xmmintrin.h>

namespace dsf::native {

/// Denormal numbers as zero, as the library computes; the mode of a thread of Python's is Python's own affair.
inline unsigned flushing_mode() {
  constexpr unsigned kFlushToZero = 1U << 15U;
  constexpr unsigned kDenormalsAreZero = 1U << 6U;
  return _mm_getcsr() | kFlushToZero | kDenormalsAreZero;
}

/// Gives this thread another floating-point mode as long as it lives.
class FloatMode {
 public:
  explicit FloatMode(unsigned mode) : before_(_mm_getcsr()) { _mm_setcsr(mode); }
  ~FloatMode() { _mm_setcsr(before_); }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

  unsigned before() const { return before_; }

 private:
  unsigned before_;
};

}  // namespace dsf::native
