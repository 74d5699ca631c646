#pragma once

// A loss is a mean of -log p, in nats; these are the other ways to write it.

#include <cmath>
#include <numbers>

namespace dsf {

inline double perplexity_of(double loss) { return std::exp(loss); }
inline double bits_of(double loss) { return loss / std::numbers::ln2; }

}  // namespace dsf
