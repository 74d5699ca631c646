#pragma once

// Kernels of small matrix products that libxsmm generates for one shape each, the only file that knows
// it. Without the library, on a CPU without AVX-512, and on a system that lets no process generate
// code, there is none.

#include "dsf/base/dim.h"
#include "dsf/kernels/gemm.h"

namespace dsf::xsmm {

/// C [rows, cols] (+)= A [rows, depth] B [depth, cols], all row-major, C in f32. In bf16 the depth is
/// even and B is in pairs, b[k/2][j][k%2]: its stride counts pairs. The others count numbers.
struct KernelShape {
  Precision precision = Precision::f32;
  Into into = Into::overwrite;
  dim_t rows = 0;
  dim_t cols = 0;
  dim_t depth = 0;
  dim_t a_stride = 0;
  dim_t b_stride = 0;
  dim_t c_stride = 0;
};

/// The kernel reads B first: libxsmm's matrices are column-major, and C^T = B^T A^T.
using Kernel = void (*)(const void* b, const void* a, float* c);

/// True if products in this precision are to be made with such kernels: in f32 on AVX-512, in bf16 on
/// AVX512-BF16 if a short measurement finds it faster than f32 (some CPUs have it at half rate).
bool available(Precision precision);

/// The kernel for this shape, made at the first call with it (about 0.1 ms; later calls about 20 ns);
/// nullptr if libxsmm has none. Only if `available`. Threads may call it at once.
Kernel find_kernel(const KernelShape& shape);

/// Memory that libxsmm takes for itself in a process that multiplies matrices; 0 if it is not used.
dim_t library_bytes();

}  // namespace dsf::xsmm
