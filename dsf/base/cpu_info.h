#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dsf {

/// What the CPUID instruction leaves in eax, ebx, ecx and edx; zeros if the CPU has no such leaf.
struct CpuidAnswer {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
};
CpuidAnswer cpuid(unsigned leaf, unsigned subleaf = 0);

/// As the CPU calls itself, or "unknown".
std::string cpu_name();

/// The instruction sets that matter to dsf and that this CPU has: "avx2", "avx512f", "amx_bf16",
/// ...
std::vector<std::string> cpu_features();

/// True if `feature` is one of them.
bool cpu_has(std::string_view feature);

}  // namespace dsf
