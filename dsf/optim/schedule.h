#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "dsf/base/choice.h"
#include "dsf/base/dim.h"

namespace dsf {

enum class ScheduleKind { constant, step, cosine };
template <>
struct ChoiceNames<ScheduleKind> {
  static constexpr std::array<std::string_view, 3> kNames = {"constant", "step", "cosine"};
};

/// The learning rate over a run, as a factor of the peak.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::constant;
  /// step: epochs at which the rate is multiplied by gamma
  std::vector<double> milestones = {10.0, 20.0};
  double gamma = 0.1;   ///< step
  double warmup = 0.1;  ///< cosine: fraction of all steps with a linear rise from 0
  double floor = 0.1;   ///< cosine: the last step's rate as a fraction of the peak
};

/// Factor for the update numbered `step` (0-based) of `total_steps`, `steps_per_epoch` known.
///   step      gamma ^ (number of milestones <= epoch),  epoch = step / steps_per_epoch
///   cosine    (step + 1) / warm while step < warm = warmup * total; then
///             floor + (1 - floor) (1 + cos(pi * (step - warm) / (total - warm))) / 2
double schedule_factor(const ScheduleConfig& config, dim_t step, dim_t steps_per_epoch,
                       dim_t total_steps);

}  // namespace dsf
