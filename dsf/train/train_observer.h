#pragma once

#include <functional>

#include "dsf/run/run_report.h"

namespace dsf {

/// Told what happens, as it happens; a progress display, a test.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(const StartReport& /*report*/) {}
  virtual void on_step(const TrainReport& /*report*/) {}  ///< after every step
  virtual void on_eval(const EvalReport& /*report*/) {}
};

/// The signal that asks the run to save and stop (SIGUSR1: to save and go on), or 0. Asked once a
/// step.
using StopRequest = std::function<int()>;

}  // namespace dsf
