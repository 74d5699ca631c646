#include "dsf/base/rng.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace dsf {
namespace {

// SplitMix64 (Steele, Lea and Flood, 2014): spreads a seed over the state.
std::uint64_t split_mix(std::uint64_t& x) {
  x += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = x;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

// FNV-1a.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (const char c : name) {
    h ^= static_cast<unsigned char>(c);
    h *= 0x100000001B3ULL;
  }
  return h;
}

}  // namespace

Rng::Rng(std::uint64_t seed) : state_{} {
  for (auto& word : state_) word = split_mix(seed);
}

Rng::Rng(std::uint64_t seed, std::string_view purpose) : Rng(seed ^ hash_name(purpose)) {}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

double Rng::uniform(double low, double high) { return low + (high - low) * uniform(); }

double Rng::normal() {
  const double u = 1.0 - uniform();  // in (0, 1]: the logarithm is finite
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

dim_t Rng::below(dim_t n) {
  const auto range = static_cast<std::uint64_t>(n);
  const std::uint64_t limit = range * (~std::uint64_t{0} / range);  // largest multiple of range
  std::uint64_t draw = next();
  while (draw >= limit) draw = next();
  return static_cast<dim_t>(draw % range);
}

}  // namespace dsf
