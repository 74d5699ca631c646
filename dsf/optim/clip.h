#pragma once

#include <span>

namespace dsf {

/// Euclidean norm of the whole gradient, accumulated in double over fixed chunks: independent of
/// the number of threads.
double global_norm(std::span<const float> gradient);

/// The factor that brings a gradient of norm `norm` down to at most `max_norm`; 1 if max_norm <=
/// 0.
double clip_scale(double norm, double max_norm);

}  // namespace dsf
