#pragma once

namespace dsf {

/// Hands the limit that DSF_MAX_ISA sets on to Highway's kernels, which look at the CPU
/// themselves; the kernels of libxsmm and AMX ask `may_use`. Done once when the program is loaded,
/// before anything is computed, and again by whoever asks. Throws UsageError for a name that
/// DSF_MAX_ISA cannot have.
void apply_isa_cap();

}  // namespace dsf
