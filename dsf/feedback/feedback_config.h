#pragma once

#include <string>
#include <vector>

#include "dsf/base/choice.h"
#include "dsf/base/dim.h"

namespace dsf {

/// How the diagonal scan is computed; all forms agree to rounding.
///   fused    each slice of sequences walks back through time once, local backward included
///   others   reverse_scan (dsf/kernels/diagonal_scan.h), then local backward of all rows
enum class DiagonalForm { automatic, fused, serial, blocked, fft };
template <>
struct ChoiceNames<DiagonalForm> {
  static constexpr std::array<std::string_view, 5> kNames = {"auto", "fused", "serial", "blocked",
                                                             "fft"};
};

/// How the diagonal of dsf and gated:dsf is chosen; uniform draws from the seed.
enum class DiagonalInit { uniform, linspace, constant };
template <>
struct ChoiceNames<DiagonalInit> {
  static constexpr std::array<std::string_view, 3> kNames = {"uniform", "linspace", "constant"};
};

/// How gradients go back in time.
struct FeedbackConfig {
  std::string method = "dsf";  ///< a name of feedback_methods() (feedback_method.h)
  DiagonalInit init = DiagonalInit::uniform;
  /// [low, high] of the diagonal; constant takes the mean of the two.
  std::vector<double> range = {0.0, 1.0};
  DiagonalForm scan = DiagonalForm::automatic;
  dim_t calibration = 4;    ///< adaptive: the first batches, which go back exactly
  dim_t refit_every = 100;  ///< adaptive: batches from one exact one to the next; 0: never again
};

}  // namespace dsf
