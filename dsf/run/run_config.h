#pragma once

// Everything that defines a run. Plain structs; config_fields.h lists their keys, config_file.h
// reads and writes them.

#include <array>
#include <string_view>

#include "dsf/base/choice.h"
#include "dsf/data/dataset.h"
#include "dsf/feedback/feedback_config.h"
#include "dsf/kernels/gemm.h"
#include "dsf/model/model_config.h"
#include "dsf/optim/adam.h"
#include "dsf/optim/schedule.h"

namespace dsf {

/// adam: L2 inside the gradient; adamw: decoupled decay.
enum class Optimizer { adam, adamw };
template <>
struct ChoiceNames<Optimizer> {
  static constexpr std::array<std::string_view, 2> kNames = {"adam", "adamw"};
};

/// What a run does at a loss or gradient that is not finite.
enum class OnNan { stop, skip };
template <>
struct ChoiceNames<OnNan> {
  static constexpr std::array<std::string_view, 2> kNames = {"stop", "skip"};
};

/// automatic: what this CPU does fastest, settled by resolve().
enum class PrecisionChoice { automatic, f32, bf16 };
template <>
struct ChoiceNames<PrecisionChoice> {
  static constexpr std::array<std::string_view, 3> kNames = {"auto", "f32", "bf16"};
};

/// How a model is trained: the keys of [train].
struct TrainConfig {
  dim_t epochs = 30;
  dim_t steps = 0;  ///< 0: as many as the epochs have
  dim_t batch = 128;
  double lr = 1e-3;
  Optimizer optimizer = Optimizer::adam;
  AdamConfig adam;
  ScheduleConfig schedule;
  double clip = 0.0;           ///< largest norm of the gradient; 0: no clipping
  dim_t eval_every = 0;        ///< steps; 0: at the end of each epoch
  dim_t checkpoint_every = 0;  ///< steps, besides the checkpoint after each evaluation
  dim_t keep = 2;              ///< newest checkpoints that stay, besides the best
  OnNan on_nan = OnNan::stop;
  dim_t log_every = 10;      ///< steps
  bool tensorboard = false;  ///< event files beside the log
  dim_t seed = 1;
  dim_t threads = 0;  ///< of a rank; 0: the CPUs it may run on, shared fairly
  PrecisionChoice precision = PrecisionChoice::automatic;
  bool shard_optimizer = false;     ///< each rank keeps the moments of its part of the weights only
  bool compress_gradients = false;  ///< they travel between ranks as bf16
  double watchdog_seconds = 60.0;   ///< how long the ranks wait for one of them
};

/// All keys of a configuration file. resolve() must have seen it before a run uses it.
struct RunConfig {
  DataConfig data;
  ModelConfig model;
  FeedbackConfig feedback;
  TrainConfig train;
};

/// What the keys say only together: throws ConfigError naming them.
void validate(const RunConfig& config);

/// Settles what depends on where the run starts: the names of corpus files become absolute, so that
/// `dsf eval` finds them from anywhere, and precision auto becomes what this CPU does fastest.
void resolve(RunConfig& config);

/// `precision` as resolved.
Precision precision_of(const TrainConfig& config);

/// The optimiser's settings: TrainConfig::adam with the optimizer's name taken into account.
AdamConfig adam_config_of(const TrainConfig& config);

/// Sets the size of the thread pool: train.threads, or leaves it as it is.
void apply_threads(const TrainConfig& config);

}  // namespace dsf
