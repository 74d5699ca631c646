#pragma once

#include <string>
#include <vector>

namespace dsf {

/// How gradients go back in time.
struct FeedbackConfig {
  std::string method = "dsf";  ///< bptt | ft | dsf
  std::string init =
      "uniform";  ///< of dsf's diagonal: uniform (from the seed) | linspace | constant
  std::vector<double> range = {
      0.0, 1.0};              ///< [low, high] of the diagonal; constant takes the mean of the two
  std::string scan = "auto";  ///< auto | fused | serial | blocked | fft
};

}  // namespace dsf
