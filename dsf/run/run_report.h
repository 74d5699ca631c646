#pragma once

// What a run tells about itself: to its log, to its observer (train/train_observer.h), and at the
// end to whoever started it.

#include <optional>
#include <string>

#include "dsf/base/dim.h"
#include "dsf/model/language_model.h"

namespace dsf {

/// Training since the last report. Times are wall-clock seconds.
struct TrainReport {
  dim_t step = 0;
  dim_t total_steps = 0;
  double epoch = 0.0;
  double loss = 0.0;  ///< mean over the tokens since the last line
  double learning_rate = 0.0;
  double gradient_norm = 0.0;  ///< of the last step, before clipping
  dim_t tokens = 0;            ///< targets trained on so far
  double tokens_per_second = 0.0;
  double seconds = 0.0;       ///< since the run began, stops left out
  double step_seconds = 0.0;  ///< mean length of a step
  PhaseTimes phases;          ///< mean of a step
  double update_seconds = 0.0;
  double seconds_left = 0.0;  ///< of the run, evaluations included
};

struct EvalReport {
  dim_t step = 0;
  double epoch = 0.0;
  std::string split = "valid";
  double loss = 0.0;
  double perplexity = 0.0;
  double accuracy = 0.0;
  dim_t tokens = 0;
  double train_loss = 0.0;  ///< mean since the evaluation before
  double learning_rate = 0.0;
  double tokens_per_second = 0.0;  ///< of training since the evaluation before
  double seconds = 0.0;
  double eval_seconds = 0.0;
  bool best = false;
};

/// How a run ended, or stands.
struct RunSummary {
  dim_t steps = 0;
  dim_t total_steps = 0;
  double epoch = 0.0;
  dim_t parameters = 0;
  dim_t tokens = 0;
  std::optional<double> best_loss;
  std::optional<double> best_perplexity;
  dim_t best_step = 0;
  double seconds = 0.0;
  double tokens_per_second = 0.0;  ///< of training, over this process
  PhaseTimes phases;               ///< mean of a step, over this process
  bool interrupted = false;
  double unknown_rate = 0.0;  ///< part of the validation text's tokens that are <unk>
};

/// What stands at the start of a run.
struct StartReport {
  bool resumed = false;
  dim_t step = 0;
  dim_t total_steps = 0;
  dim_t steps_per_epoch = 0;
  dim_t parameters = 0;
  dim_t vocab = 0;
  int threads = 0;  ///< of each rank
  int ranks = 1;
  std::string precision;
  std::string feedback;
};

}  // namespace dsf
