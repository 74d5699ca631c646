#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dsf/base/dim.h"

namespace dsf {

/// xoshiro256** (Blackman and Vigna, 2018). Small, fast, and its whole state can be saved.
/// All derived draws are defined here, not by the standard library, so that a seed means the same
/// numbers with every compiler.
class Rng {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit Rng(std::uint64_t seed = 0);
  /// An independent generator for one purpose: the same seed and name give the same numbers, and a
  /// new purpose disturbs no other ("init/embedding", "shuffle", ...).
  Rng(std::uint64_t seed, std::string_view purpose);

  std::uint64_t next();
  double uniform();                         ///< in [0, 1), 53 bits
  double uniform(double low, double high);  ///< in [low, high)
  double normal();                          ///< mean 0, deviation 1 (Box-Muller, no hidden state)
  dim_t below(dim_t n);                     ///< in [0, n), without bias

  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  State state_;
};

/// Fisher-Yates.
template <typename Container>
void shuffle(Container& items, Rng& rng) {
  for (dim_t i = static_cast<dim_t>(items.size()) - 1; i > 0; --i) {
    using std::swap;
    swap(items[static_cast<std::size_t>(i)], items[static_cast<std::size_t>(rng.below(i + 1))]);
  }
}

}  // namespace dsf
