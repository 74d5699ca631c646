#pragma once

#include <functional>

#include "dsf/run/run_report.h"

namespace dsf {

struct TrainingState;

/// A step whose gradients are there and whose update is still to come.
struct PendingUpdate {
  dim_t step = 0;        ///< that the update completes
  LossSum& sum;          ///< of the whole batch
  LanguageModel& model;  ///< with gradients()
  TrainingState& state;
};

/// Told what happens, as it happens; a progress display, a test.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(const StartReport& /*report*/) {}
  /// In every step, between the backward pass and the update, which goes by what is left here.
  virtual void before_update(const PendingUpdate& /*update*/) {}
  virtual void on_step(const TrainReport& /*report*/) {}  ///< after every step
  /// Before each batch of an evaluation: the training step it belongs to, the part that is done.
  virtual void on_evaluating(dim_t /*step*/, double /*part*/) {}
  virtual void on_eval(const EvalReport& /*report*/) {}
};

/// The signal that asks the run to save and stop (SIGUSR1: to save and go on), or 0. Asked once a
/// step.
using StopRequest = std::function<int()>;

}  // namespace dsf
