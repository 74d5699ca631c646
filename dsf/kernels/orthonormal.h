#pragma once

#include "dsf/base/rng.h"
#include "dsf/base/view.h"

namespace dsf {

/// Replaces the rows [r, m], r <= m, by orthonormal ones that span the same space: Q of a QR
/// decomposition (Eigen's, by Householder reflections) of their transpose.
void make_rows_orthonormal(MatrixF rows);

/// Fills `columns` [rows, n] with n <= rows orthonormal columns, uniformly random: Q of a matrix of
/// Gaussian numbers, with the signs that make R's diagonal positive.
void draw_orthonormal(Rng& rng, MatrixF columns);

}  // namespace dsf
