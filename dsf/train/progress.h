#pragma once

#include <string>

#include "dsf/base/timer.h"
#include "dsf/train/train_observer.h"

namespace dsf {

/// Progress for a person: on a terminal one line that is rewritten in place, elsewhere a plain line
/// now and then; a line that stays for every evaluation. All on stderr.
class ProgressDisplay : public TrainObserver {
 public:
  void on_start(const StartReport& report) override;
  void on_step(const TrainReport& report) override;
  void on_evaluating(dim_t step, double part) override;
  void on_eval(const EvalReport& report) override;

 private:
  Timer since_shown_;
  dim_t steps_shown_ = 0;
};

/// "2 h 05 min", "3 min 20 s", "7 s".
std::string format_duration(double seconds);

/// "10,234,567".
std::string format_count(double count);

/// "step 120/3000 epoch 0.36 loss 6.1032 ppl 447.1 12,345 tokens/s 3 min 20 s left"
std::string progress_line(const TrainReport& report);

}  // namespace dsf
