#include "dsf/kernels/xsmm_kernels.h"

#if defined(DSF_HAVE_LIBXSMM)

#include <libxsmm.h>

#include <algorithm>
#include <array>
#include <limits>

#include "dsf/base/buffer.h"
#include "dsf/base/max_isa.h"
#include "dsf/base/timer.h"

namespace dsf::xsmm {
namespace {

// libxsmm looks at the CPU itself; it is told what DSF_MAX_ISA leaves of it. False if that is less than
// AVX-512: on AVX2 its kernels reach 0.75x of the speed of our own.
bool set_up() {
  static const bool done = [] {
    if (!may_use(Isa::avx512)) return false;
    libxsmm_init();
    const int limit = may_use(Isa::avx512_bf16) ? LIBXSMM_X86_AVX512_CPX : LIBXSMM_X86_AVX512_CORE;
    libxsmm_set_target_archid(std::min(libxsmm_get_target_archid(), limit));
    return libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512_CORE;
  }();
  return done;
}

// A tile that stays in the first-level cache, so that the arithmetic alone is compared.
KernelShape trial_shape(Precision precision) {
  KernelShape shape;
  shape.precision = precision;
  shape.rows = 24;
  shape.cols = 64;
  shape.depth = 64;
  shape.a_stride = shape.depth;
  shape.b_stride = shape.cols;
  shape.c_stride = shape.cols;
  return shape;
}

// Seconds of a few calls.
double time_of(Kernel kernel, const Buffer<float>& b, const Buffer<float>& a, Buffer<float>& c) {
  constexpr int kCalls = 32;
  const Timer timer;
  for (int i = 0; i < kCalls; ++i) kernel(b.data(), a.data(), c.data());
  return timer.seconds();
}

// If multiplying pairs has the rate of f32's multiply-adds it does twice the work, if it has half
// of that, the same. The two take turns and the fastest turns count, so that a busy machine does not
// decide; it takes less than a millisecond.
bool bf16_is_faster() {
  constexpr int kTurns = 20;
  constexpr double kFaster = 1.4;
  const KernelShape shape = trial_shape(Precision::f32);
  const Kernel f32 = find_kernel(shape);
  const Kernel bf16 = find_kernel(trial_shape(Precision::bf16));
  if (f32 == nullptr || bf16 == nullptr) return false;
  const Buffer<float> a(shape.rows * shape.depth);
  const Buffer<float> b(shape.depth * shape.cols);
  Buffer<float> c(shape.rows * shape.cols);
  double f32_best = std::numeric_limits<double>::max();
  double bf16_best = std::numeric_limits<double>::max();
  for (int turn = 0; turn < kTurns; ++turn) {
    f32_best = std::min(f32_best, time_of(f32, b, a, c));
    bf16_best = std::min(bf16_best, time_of(bf16, b, a, c));
  }
  return f32_best > kFaster * bf16_best;
}

}  // namespace

bool available(Precision precision) {
  static const bool in_f32 = set_up() && find_kernel(trial_shape(Precision::f32)) != nullptr;
  static const bool in_bf16 = set_up() && may_use(Isa::avx512_bf16) && bf16_is_faster();
  return precision == Precision::f32 ? in_f32 : in_bf16;
}

// Version 1.17 fills its table of kernels, of a fixed size, when it is set up: 11.1 MB.
dim_t library_bytes() { return may_use(Isa::avx512) ? 11'100'000 : 0; }

Kernel find_kernel(const KernelShape& shape) {
  const auto number = [](dim_t x) { return static_cast<libxsmm_blasint>(x); };
  const libxsmm_blasint a_stride = number(shape.a_stride);
  const libxsmm_blasint b_stride = number(shape.b_stride);
  const libxsmm_blasint c_stride = number(shape.c_stride);
  const float one = 1.0F;
  const float beta = shape.into == Into::accumulate ? 1.0F : 0.0F;
  const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  if (shape.precision == Precision::f32) {
    const int flags = LIBXSMM_GEMM_FLAG_NONE;
    return reinterpret_cast<Kernel>(libxsmm_smmdispatch(number(shape.cols), number(shape.rows),
                                                        number(shape.depth), &b_stride, &a_stride,
                                                        &c_stride, &one, &beta, &flags, &prefetch));
  }
  const int flags = LIBXSMM_GEMM_FLAG_VNNI_A;
  return reinterpret_cast<Kernel>(libxsmm_bsmmdispatch(number(shape.cols), number(shape.rows),
                                                       number(shape.depth), &b_stride, &a_stride,
                                                       &c_stride, &one, &beta, &flags, &prefetch));
}

}  // namespace dsf::xsmm

#else

namespace dsf::xsmm {

bool available(Precision /*precision*/) { return false; }
dim_t library_bytes() { return 0; }
Kernel find_kernel(const KernelShape& /*shape*/) { return nullptr; }

}  // namespace dsf::xsmm

#endif
