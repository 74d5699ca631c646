#pragma once

// From logits to a token.
//
//   p_i = exp(l_i / temperature) / sum        then, in this order, only
//   top_k   the k most probable tokens
//   top_p   the fewest most probable tokens whose probabilities sum to top_p or more
//   min_p   tokens at least min_p times as probable as the most probable one
//   may be drawn, with their probabilities scaled up to 1.

#include <span>
#include <vector>

#include "dsf/base/rng.h"
#include "dsf/base/token_batch.h"

namespace dsf {

/// How a token is drawn from the model's distribution; the defaults draw from it as it is.
struct SamplingConfig {
  double temperature = 1.0;  ///< 0: always the most probable token
  dim_t top_k = 0;           ///< 0: all
  double top_p = 1.0;
  double min_p = 0.0;
};

/// Throws UsageError naming the option and its range.
void check_sampling(const SamplingConfig& config);

/// Draws tokens: a function of the logits, the configuration and the generator's state alone. The
/// object holds memory, kept from draw to draw.
class Sampler {
 public:
  /// Throws UsageError as check_sampling.
  explicit Sampler(const SamplingConfig& config);

  /// Takes one number from `rng`, or none at temperature 0. -inf bans a token. Throws
  /// DivergenceError if a logit is NaN or none is finite.
  token_t draw(std::span<const float> logits, Rng& rng);

 private:
  struct Candidate {
    token_t token = 0;
    double weight = 0.0;  // the logit, then exp((l - largest l) / temperature)
  };

  void collect(std::span<const float> logits);
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();
  double total() const;

  SamplingConfig config_;
  std::vector<Candidate> candidates_;
};

}  // namespace dsf
