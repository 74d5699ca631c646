#pragma once

#include <memory>
#include <string>

#include "dsf/base/token_batch.h"
#include "dsf/model/language_model.h"
#include "dsf/optim/adam.h"
#include "lab/bench/measure.h"

namespace dsf {

/// A model and a shape of batch that a benchmark names.
struct StepConfig {
  std::string name;
  ModelConfig model;
  dim_t vocab = 0;
  dim_t batch = 0;
  dim_t steps = 0;
};

/// "ptb_3L256": the paper's Penn Treebank model; "wikitext_3L512": its WikiText model.
const std::vector<StepConfig>& step_configs();
/// Those that the options name.
std::vector<StepConfig> choose_step_configs(const BenchOptions& options);

/// The parts a step's time is given in: places in PartTimes.
inline constexpr dim_t kForward = 0;
inline constexpr dim_t kHead = 1;
inline constexpr dim_t kBackward = 2;
inline constexpr dim_t kOptimiser = 3;

/// A method as benchmarks time it: what it learns first, it learns from the one batch that fills the
/// memory before the clock runs.
FeedbackConfig feedback_of(const std::string& method);

/// A model in training: everything the trainer does with a batch, without data and log.
class TrainingStep {
 public:
  TrainingStep(const StepConfig& config, const FeedbackConfig& feedback, Precision precision);
  TrainingStep(const StepConfig& config, const std::string& method, Precision precision);

  /// Packs the weights that the last step changed, computes the gradients and their norm, and updates
  /// by Adam: seconds by part.
  PartTimes run(const TokenBatch& batch);

 private:
  LanguageModel model_;
  AdamState adam_;
};

/// Uniformly random tokens.
TokenBatch random_batch(dim_t vocab, PackedLayout layout);

/// Bytes that a TrainingStep takes at the most, estimated.
double estimate_step_memory(const StepConfig& config);

}  // namespace dsf
