#pragma once

#include "dsf/cells/slices.h"

namespace dsf {

/// Sequences of one task of a walk back through time that multiplies no matrices: finer slices than
/// the cells' cost nothing and keep more threads busy.
inline constexpr dim_t kStreamingRows = 8;

}  // namespace dsf
