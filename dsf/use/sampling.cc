#include "dsf/use/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsf/base/error.h"

namespace dsf {
namespace {

void require(bool good, const char* option, double value, const char* range) {
  if (!good) throw UsageError(fmt::format("{} = {}: must be {}", option, value, range));
}

// Of equally probable tokens the first one, so that the order is defined.
constexpr auto kMoreProbable = [](const auto& a, const auto& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
};

}  // namespace

void check_sampling(const SamplingConfig& config) {
  require(config.temperature >= 0.0 && std::isfinite(config.temperature), "temperature",
          config.temperature, "0 (the most probable token) or more");
  require(config.top_k >= 0, "top-k", static_cast<double>(config.top_k), "0 (all) or more");
  require(config.top_p > 0.0 && config.top_p <= 1.0, "top-p", config.top_p,
          "above 0 and at most 1");
  require(config.min_p >= 0.0 && config.min_p <= 1.0, "min-p", config.min_p, "between 0 and 1");
}

Sampler::Sampler(const SamplingConfig& config) : config_(config) { check_sampling(config); }

token_t Sampler::draw(std::span<const float> logits, Rng& rng) {
  collect(logits);
  const Candidate best = *std::min_element(candidates_.begin(), candidates_.end(), kMoreProbable);
  if (config_.temperature == 0.0) return best.token;
  keep_top_k();
  for (Candidate& candidate : candidates_) {
    candidate.weight = std::exp((candidate.weight - best.weight) / config_.temperature);
  }
  keep_top_p();
  keep_min_p();
  double left = rng.uniform() * total();
  for (const Candidate& candidate : candidates_) {
    left -= candidate.weight;
    if (left < 0.0) return candidate.token;
  }
  return best.token;  // if rounding left a remainder
}

void Sampler::collect(std::span<const float> logits) {
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto logit = static_cast<double>(logits[i]);
    if (std::isnan(logit) || logit == HUGE_VAL) {
      throw DivergenceError(
          fmt::format("the logit of token {} is {}: the model's weights are not usable", i, logit));
    }
    if (logit != -HUGE_VAL) candidates_.push_back({static_cast<token_t>(i), logit});
  }
  if (candidates_.empty()) throw DivergenceError("no token has a finite logit");
}

void Sampler::keep_top_k() {
  const auto k = static_cast<std::size_t>(config_.top_k);
  if (k == 0 || k >= candidates_.size()) return;
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(k);
  std::partial_sort(candidates_.begin(), end, candidates_.end(), kMoreProbable);
  candidates_.resize(k);
}

void Sampler::keep_top_p() {
  if (config_.top_p >= 1.0) return;
  std::sort(candidates_.begin(), candidates_.end(), kMoreProbable);
  const double enough = config_.top_p * total();
  double sum = 0.0;
  std::size_t kept = 0;
  while (kept < candidates_.size() && sum < enough) sum += candidates_[kept++].weight;
  candidates_.resize(kept);
}

// The most probable token's weight is 1.
void Sampler::keep_min_p() {
  std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < config_.min_p; });
}

double Sampler::total() const {
  double sum = 0.0;
  for (const Candidate& candidate : candidates_) sum += candidate.weight;
  return sum;
}

}  // namespace dsf
