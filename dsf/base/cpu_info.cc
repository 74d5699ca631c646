#include "dsf/base/cpu_info.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>

namespace dsf {

#if defined(__x86_64__)

CpuidAnswer cpuid(unsigned leaf, unsigned subleaf) {
  CpuidAnswer r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

namespace {

bool bit(unsigned value, unsigned position) { return ((value >> position) & 1U) != 0; }

}  // namespace

std::string cpu_name() {
  constexpr unsigned kFirstLeaf = 0x80000002U;
  std::array<char, 3 * sizeof(CpuidAnswer) + 1> text{};
  for (unsigned i = 0; i < 3; ++i) {
    const CpuidAnswer r = cpuid(kFirstLeaf + i);
    std::memcpy(text.data() + i * sizeof(CpuidAnswer), &r, sizeof(CpuidAnswer));
  }
  std::string name(text.data());
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return "unknown";
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

// Bit numbers: Intel SDM, volume 2A, CPUID.
std::vector<std::string> cpu_features() {
  const CpuidAnswer basic = cpuid(1);
  const CpuidAnswer extended = cpuid(7, 0);
  const CpuidAnswer more = cpuid(7, 1);
  struct Feature {
    const char* name;
    bool present;
  };
  const std::array<Feature, 9> all = {{{"avx", bit(basic.c, 28)},
                                       {"fma", bit(basic.c, 12)},
                                       {"avx2", bit(extended.b, 5)},
                                       {"avx512f", bit(extended.b, 16)},
                                       {"avx512_vnni", bit(extended.c, 11)},
                                       {"avx512_bf16", bit(more.a, 5)},
                                       {"amx_tile", bit(extended.d, 24)},
                                       {"amx_bf16", bit(extended.d, 22)},
                                       {"amx_int8", bit(extended.d, 25)}}};
  std::vector<std::string> present;
  for (const Feature& feature : all) {
    if (feature.present) present.emplace_back(feature.name);
  }
  return present;
}

#else

CpuidAnswer cpuid(unsigned /*leaf*/, unsigned /*subleaf*/) { return {}; }
std::string cpu_name() { return "unknown"; }
std::vector<std::string> cpu_features() { return {}; }

#endif

bool cpu_has(std::string_view feature) {
  const std::vector<std::string> features = cpu_features();
  return std::ranges::find(features, feature) != features.end();
}

}  // namespace dsf
