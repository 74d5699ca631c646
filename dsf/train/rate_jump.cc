#include "dsf/train/rate_jump.h"

#include <fmt/format.h>

#include "dsf/base/log.h"
#include "dsf/train/training_schedule.h"

namespace dsf {

void warn_of_rate_jump(const RunConfig& before, const RunConfig& now, dim_t step,
                       dim_t steps_per_epoch) {
  constexpr double kFar = 1.5;
  if (step == 0 || now.train.schedule.kind != ScheduleKind::cosine) return;
  const TrainingSchedule old_schedule(before.train, steps_per_epoch);
  const TrainingSchedule schedule(now.train, steps_per_epoch);
  if (old_schedule.total_steps() == schedule.total_steps()) return;
  const double was = old_schedule.learning_rate(step - 1);
  const double is = schedule.learning_rate(step);
  if (is <= kFar * was) return;
  log_warning(fmt::format(
      "the cosine schedule now has {} steps in place of {}: the learning rate rises from {:.3g} to "
      "{:.3g} at step {}; --lr sets a lower peak, train.schedule = \"constant\" keeps it",
      schedule.total_steps(), old_schedule.total_steps(), was, is, step));
}

}  // namespace dsf
