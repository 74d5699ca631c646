#pragma once

#include <string>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

/// How gradients go back in time.
struct FeedbackConfig {
  std::string method = "dsf";  ///< a name of feedback_methods() (feedback_method.h)
  /// Of the diagonal of dsf and gated:dsf: uniform (from the seed) | linspace | constant.
  std::string init = "uniform";
  /// [low, high] of the diagonal; constant takes the mean of the two.
  std::vector<double> range = {0.0, 1.0};
  std::string scan = "auto";  ///< auto | fused | serial | blocked | fft
  dim_t calibration = 4;      ///< adaptive: the first batches, which go back exactly
  dim_t refit_every = 100;    ///< adaptive: batches from one exact one to the next; 0: never again
};

}  // namespace dsf
