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

/// One step of two paths, the cell's own and the scan's where that one forgets:
///
///   g_{t-1} = e_{t-1} + own + a (g_t - own),   own = g_t D_t
///
/// `a` [S], `g` [n, S] and `e` [n, S] are read, `own` [n, S] becomes g_{t-1}; no aliasing. Runs on
/// the calling thread.
void join_paths(std::span<const float> a, ConstMatrixF g, ConstMatrixF e, MatrixF own);

/// What d sends back through the diagonals u_1 .. u_K of K recurrent matrices alone:
///
///   g_{t-1} += sign (u_1 d_1 + ... + u_K d_K)
///
/// `d` [n, K D] and `u` [K D] are read, `g_previous` [n, D] is accumulated into; no aliasing. Runs
/// on the calling thread.
void add_own_products(float sign, ConstMatrixF d, const float* u, MatrixF g_previous);

}  // namespace dsf
