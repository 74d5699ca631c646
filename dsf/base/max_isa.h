#pragma once

// What of the CPU's instruction sets this process uses: all that dsf knows, or as many as the
// environment variable DSF_MAX_ISA allows, so that one machine can test and measure its lesser
// selves. kernels/isa_cap.h hands the limit on to the libraries that choose for themselves.

#include <optional>
#include <string_view>

namespace dsf {

/// From the least to the most; each includes those before it.
enum class Isa { avx2, avx512, avx512_bf16, amx };

/// As DSF_MAX_ISA spells it.
std::string_view name_of(Isa isa);

/// The value of DSF_MAX_ISA, none if it is unset or empty. Throws UsageError for a name it does not know.
std::optional<Isa> max_isa();

/// True if the CPU has the instructions that dsf needs of this set, and DSF_MAX_ISA allows them.
bool may_use(Isa isa);

}  // namespace dsf
