#pragma once

#include <span>

#include "dsf/base/view.h"

namespace dsf {

/// One step of the reverse diagonal scan, for the fused form (paper, eq. 13 with A diagonal):
///
///   g_{t-1} += a g_t
///
/// `a` [S] and `g` [n, S] are read, `g_previous` [n, S] is accumulated into; no aliasing. Runs on
/// the calling thread.
void add_diagonal_product(std::span<const float> a, ConstMatrixF g, MatrixF g_previous);

}  // namespace dsf
