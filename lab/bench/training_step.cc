#include "lab/bench/training_step.h"

#include <algorithm>
#include <utility>

#include "dsf/base/rng.h"
#include "dsf/model/step_memory.h"
#include "dsf/train/training_step.h"

namespace dsf {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kLearningRate = 1e-4;

ModelConfig three_layers(dim_t hidden, BlockKind block) {
  ModelConfig config;
  config.hidden = hidden;
  config.layers = 3;
  config.block = block;
  return config;
}

}  // namespace

FeedbackConfig feedback_of(const std::string& method) {
  FeedbackConfig feedback;
  feedback.method = method;
  feedback.calibration = 1;
  return feedback;
}

const std::vector<StepConfig>& step_configs() {
  static const std::vector<StepConfig> configs = {
      {"ptb_3L256", three_layers(256, BlockKind::plain), 10000, 128, 64},
      {"wikitext_3L512", three_layers(512, BlockKind::transformer), 16000, 128, 256}};
  return configs;
}

std::vector<StepConfig> choose_step_configs(const BenchOptions& options) {
  std::vector<std::string> known;
  for (const StepConfig& config : step_configs()) known.push_back(config.name);
  const auto names = choose(options.only, known, "configuration");
  std::vector<StepConfig> chosen;
  for (const StepConfig& config : step_configs()) {
    if (std::find(names.begin(), names.end(), config.name) != names.end()) chosen.push_back(config);
  }
  return chosen;
}

TrainingStep::TrainingStep(const StepConfig& config, const std::string& method, Precision precision)
    : TrainingStep(config, feedback_of(method), precision) {}

TrainingStep::TrainingStep(const StepConfig& config, const FeedbackConfig& feedback,
                           Precision precision)
    : model_(config.model, feedback, config.vocab, kSeed) {
  adam_.m.resize(model_.table().flat_size());
  adam_.v.resize(model_.table().flat_size());
  model_.set_precision(precision);
}

PartTimes TrainingStep::run(const TokenBatch& batch) {
  const StepResult result = training_step(
      model_, batch, {.adam = {}, .learning_rate = kLearningRate, .clip = 1.0}, adam_);
  const PhaseTimes& phases = model_.phase_times();
  return {phases.forward, phases.head, phases.backward, result.update_seconds};
}

TokenBatch random_batch(dim_t vocab, PackedLayout layout) {
  Rng rng(kSeed, "bench/tokens");
  TokenBatch batch{std::move(layout), {}, {}};
  for (dim_t i = 0; i < batch.tokens(); ++i) {
    batch.inputs.push_back(static_cast<token_t>(rng.below(vocab)));
    batch.targets.push_back(static_cast<token_t>(rng.below(vocab)));
  }
  return batch;
}

double estimate_step_memory(const StepConfig& config) {
  const BatchShape shape{config.batch * config.steps, config.batch, config.steps, true};
  return step_memory(config.model, feedback_of("bptt"), config.vocab, shape, Precision::f32);
}

}  // namespace dsf
