#include "dsf/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dsf {
namespace {

double step_factor(const ScheduleConfig& config, double epoch) {
  const auto passed = std::count_if(config.milestones.begin(), config.milestones.end(),
                                    [&](double milestone) { return milestone <= epoch; });
  return std::pow(config.gamma, static_cast<double>(passed));
}

double cosine_factor(const ScheduleConfig& config, double step, double total) {
  const double warm = config.warmup * total;
  // warm need not be whole: its last step would overshoot the peak.
  if (step < warm) return std::min(1.0, (step + 1.0) / warm);
  const double progress = std::min(1.0, (step - warm) / (total - warm));
  return config.floor + (1.0 - config.floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace

double schedule_factor(const ScheduleConfig& config, dim_t step, dim_t steps_per_epoch,
                       dim_t total_steps) {
  switch (config.kind) {
    case ScheduleKind::constant:
      return 1.0;
    case ScheduleKind::step:
      return step_factor(config, static_cast<double>(step) / static_cast<double>(steps_per_epoch));
    case ScheduleKind::cosine:
      return cosine_factor(config, static_cast<double>(step), static_cast<double>(total_steps));
  }
  return 1.0;
}

}  // namespace dsf
