#include "dsf/kernels/isa_cap.h"

#include <cstdint>
#include <optional>

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

// Whoever runs a product or the program is told about a wrong name; here nobody could be.
const bool kAppliedAtStart = [] {
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
    return true;
  }();
  (void)applied;
}

}  // namespace dsf
