#pragma once

#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/feedback/feedback.h"

namespace dsf {

/// Which batches go back exactly, to learn from them: the first `calibration`, and from then on
/// every `refit_every`-th; 0: none.
struct FitSchedule {
  dim_t calibration = 1;
  dim_t refit_every = 0;
};

/// Counts batches by a schedule. The counters are a buffer, so that a resumed run goes on with the
/// same batch.
class ExactBatches {
 public:
  explicit ExactBatches(FitSchedule schedule) : schedule_(schedule), counters_(2) {}

  /// True while the first `calibration` batches last.
  bool calibrating() const { return calibrated() < static_cast<float>(schedule_.calibration); }
  /// Whether the batch at hand goes back exactly.
  bool is_due() const {
    return calibrating() || (schedule_.refit_every > 0 &&
                             since_last() + 1.0F >= static_cast<float>(schedule_.refit_every));
  }
  /// The batch at hand is done.
  void count() {
    const bool due = is_due();
    if (calibrating()) counters_[0] += 1.0F;
    // Where nothing is refitted there is nothing to count up to.
    counters_[1] = due || schedule_.refit_every == 0 ? 0.0F : since_last() + 1.0F;
  }
  NamedBuffer buffer() { return {"counters", counters_.span()}; }

 private:
  float calibrated() const { return counters_[0]; }
  float since_last() const { return counters_[1]; }

  FitSchedule schedule_;
  Buffer<float> counters_;  // batches of the calibration done, batches since the last exact one
};

}  // namespace dsf
