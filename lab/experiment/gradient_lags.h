#pragma once

// How far back in time a feedback's gradient stays right.
//
// The loss of each sequence's last token alone is sent back. What arrives l steps before it at the
// input of block k,
//
//   dL_T / dx_{T-l}     x: the input of block k,
//
// has gone back through time by exactly l steps, in blocks k and above. It is set beside BPTT's,
// over all sequences of the batches: cosine and ratio of norms for each block and lag. Block 0's
// input is the embedded text: its row is the way through the whole model.

#include <string>
#include <vector>

#include "lab/experiment/gradient_comparison.h"

namespace dsf {

struct LagAgreement {
  dim_t lag = 0;
  double cosine = 0.0;  ///< 0 if one of the two is zero
  double norm_ratio = 0.0;
  double exact_norm = 0.0;  ///< BPTT's, its norm at lag 0 being 1: how much there is to get right
};

struct MethodLags {
  std::string method;
  /// One list a block, lags 0, 1, 2, 4, 8, ... as far as the sequences reach.
  std::vector<std::vector<LagAgreement>> blocks;
};

/// On the batches that compare_gradients measures; every sequence starts at a zero state. Throws
/// ConfigError if the model's mixer is not a recurrent cell.
std::vector<MethodLags> compare_lags(const RunConfig& config, const Dataset& data,
                                     const LanguageModel& model,
                                     const GradientComparisonOptions& options);

/// A row for each block and lag; two columns for each method.
Table lag_table(const std::vector<MethodLags>& methods);

}  // namespace dsf
