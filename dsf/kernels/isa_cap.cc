#include "dsf/kernels/isa_cap.h"

#include <oneapi/dnnl/dnnl.h>

#include <cstdint>

#include "dsf/base/error.h"
#include "dsf/base/max_isa.h"
#include "hwy/highway.h"
#include "hwy/targets.h"

namespace dsf {
namespace {

// Highway numbers its targets from the best on, so that those better than one are the bits below it.
std::int64_t targets_beyond(Isa limit) {
  switch (limit) {
    case Isa::avx2:
      return HWY_AVX2 - 1;
    case Isa::avx512:
      return HWY_AVX3_DL - 1;
    case Isa::avx512_bf16:
#if defined(HWY_AVX3_ZEN4)
      return HWY_AVX3_ZEN4 - 1;
#else
      return HWY_AVX3_DL - 1;
#endif
    case Isa::amx:
      return 0;
  }
  return 0;
}

dnnl_cpu_isa_t onednn_limit(Isa limit) {
  switch (limit) {
    case Isa::avx2:
      return dnnl_cpu_isa_avx2;
    case Isa::avx512:
      return dnnl_cpu_isa_avx512_core;
    case Isa::avx512_bf16:
      return dnnl_cpu_isa_avx512_core_bf16;
    case Isa::amx:
      break;
  }
  return dnnl_cpu_isa_all;
}

// Whoever runs a product or the program is told about a wrong name; here nobody could be.
const bool applied_at_start = [] {
  try {
    apply_isa_cap();
    return true;
  } catch (const UsageError&) {
    return false;
  }
}();

}  // namespace

void apply_isa_cap() {
  static const bool applied = [] {
    const std::optional<Isa> limit = max_isa();
    if (!limit) return false;
    hwy::DisableTargets(targets_beyond(*limit));
    // Without effect, and without harm, if a host program has made oneDNN choose already.
    (void)dnnl_set_max_cpu_isa(onednn_limit(*limit));
    return true;
  }();
  (void)applied;
}

}  // namespace dsf
