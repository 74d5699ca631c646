#pragma once

#include "dsf/model/language_model.h"

namespace dsf {

/// How fast training went over a stretch of steps: only the steps themselves count, not
/// evaluations, checkpoints and pauses.
struct Pace {
  dim_t steps = 0;
  dim_t tokens = 0;
  double seconds = 0.0;
  double update_seconds = 0.0;
  PhaseTimes phases;

  void add(dim_t step_tokens, double step_seconds, double step_update, const PhaseTimes& step) {
    steps += 1;
    tokens += step_tokens;
    seconds += step_seconds;
    update_seconds += step_update;
    phases.forward += step.forward;
    phases.head += step.head;
    phases.backward += step.backward;
  }

  double tokens_per_second() const {
    return seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
  }
  double per_step(double total) const {
    return steps > 0 ? total / static_cast<double>(steps) : 0.0;
  }
  PhaseTimes mean_phases() const {
    return {per_step(phases.forward), per_step(phases.head), per_step(phases.backward)};
  }
};

}  // namespace dsf
