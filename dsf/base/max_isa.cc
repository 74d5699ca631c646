#include "dsf/base/max_isa.h"

#include <array>
#include <cstdlib>
#include <string>

#include "dsf/base/cpu_info.h"
#include "dsf/base/error.h"

namespace dsf {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"avx2", "avx512", "avx512_bf16", "amx"};

// The compiler's own question also asks whether the system keeps the wide registers for us.
bool cpu_has_isa([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0 &&
                      __builtin_cpu_supports("avx512bw") != 0 &&
                      __builtin_cpu_supports("avx512vl") != 0;
  switch (isa) {
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    case Isa::avx512:
      return avx512;
    case Isa::avx512_bf16:
      return avx512 && cpu_has("avx512_bf16");
    case Isa::amx:
      return avx512 && cpu_has("amx_tile") && cpu_has("amx_bf16");
  }
#endif
  return false;
}

}  // namespace

std::string_view name_of(Isa isa) { return kNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> max_isa() {
  const char* value = std::getenv("DSF_MAX_ISA");
  if (value == nullptr || *value == '\0') return std::nullopt;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == value) return static_cast<Isa>(i);
  }
  throw UsageError("DSF_MAX_ISA=" + std::string(value) +
                   " names no instruction set that dsf knows; it can be avx2, avx512, avx512_bf16 "
                   "or amx, or unset for all that the CPU has");
}

bool may_use(Isa isa) {
  const std::optional<Isa> limit = max_isa();
  return (!limit || isa <= *limit) && cpu_has_isa(isa);
}

}  // namespace dsf
