#pragma once

// Random matrices of norm at most 1, for the feedbacks that never train theirs.

#include "dsf/base/buffer.h"
#include "dsf/base/rng.h"
#include "dsf/base/view.h"

namespace dsf {

/// Gaussian numbers, scaled to a norm of 1 (to a hundredth, from below).
Matrix draw_gaussian_matrix(dim_t size, Rng rng);

/// diag(a) Q: Q random orthogonal, a drawn from [low, high].
Matrix draw_orthogonal_matrix(dim_t size, double low, double high, Rng rng);

}  // namespace dsf
