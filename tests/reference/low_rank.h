#pragma once

// A matrix of lower rank near another one, as dsf/kernels/low_rank.h defines it.

#include "tests/reference/grid.h"

namespace dsf::reference {

/// a Q^T Q, the rows of Q those of W a^T a made orthonormal, W [rank, .] the Gaussian numbers that
/// dsf::LowRankFactors draws. `a` itself if it has no higher rank.
Grid<double> low_rank(const Grid<double>& a, dim_t rank);

}  // namespace dsf::reference
