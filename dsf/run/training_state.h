#pragma once

#include <optional>

#include "dsf/data/batcher.h"
#include "dsf/model/language_model.h"
#include "dsf/optim/adam.h"
#include "dsf/run/loss_trend.h"

namespace dsf {

/// The numbers of a run that change while it trains. Wall-clock times are kept out, so that equal
/// runs have equal checkpoints.
struct TrainingCounters {
  dim_t step = 0;                   ///< updates done
  dim_t tokens = 0;                 ///< targets trained on, all steps together
  BatchPosition position;           ///< of the training batches
  LossSum since_log;                ///< what the next train line averages over
  LossSum since_eval;               ///< what the next eval line averages over
  std::optional<double> best_loss;  ///< lowest validation loss
  dim_t best_step = 0;
  LossTrend trend;  ///< of the batches' losses
};

/// Everything besides the weights that a resumed run needs to go on as if it had never stopped.
struct TrainingState : TrainingCounters {
  AdamState adam;
  ModelState carried;  ///< stream batching: the recurrent states behind the last batch
};

}  // namespace dsf
