#pragma once

#include <xmmintrin.h>

namespace dsf::native {

/// Gives this thread another floating-point mode as long as it lives.
class FloatMode {
 public:
  explicit FloatMode(unsigned mode) : before_(_mm_getcsr()) { _mm_setcsr(mode); }
  ~FloatMode() { _mm_setcsr(before_); }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  unsigned before_;
};

}  // namespace dsf::native
