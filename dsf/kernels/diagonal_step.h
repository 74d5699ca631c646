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

/// One step of two paths, the diagonal part of the Jacobian and the scan's `a` of what that part
/// forgets:
///
///   g_{t-1} += diagonal + a (g_t - diagonal),   diagonal = g_t D_t
///
/// `a` [S], `g` [n, S] and `diagonal` [n, S] are read, `g_previous` [n, S] is accumulated into; no
/// aliasing. Runs on the calling thread.
void add_joined_paths(std::span<const float> a, ConstMatrixF g, ConstMatrixF diagonal,
                      MatrixF g_previous);

/// What d sends back through the diagonal u of a recurrent matrix alone:
///
///   g_{t-1} += sign u d
///
/// `d` [n, D] and `u` [D] are read, `g_previous` [n, D] is accumulated into; no aliasing. Runs on
/// the calling thread.
void add_signed_diagonal_product(float sign, std::span<const float> u, ConstMatrixF d,
                                 MatrixF g_previous);

}  // namespace dsf
