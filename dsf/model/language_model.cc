#include "dsf/model/language_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "dsf/base/timer.h"
#include "dsf/layers/embedding.h"
#include "dsf/layers/softmax_head.h"
#include "dsf/model/build_blocks.h"

namespace dsf {
namespace {

/// Each parameter draws from a generator of its own name, so that one more layer changes no other's
/// start.
void draw_initial_weights(const ParameterTable& table, std::uint64_t seed, std::span<float> flat) {
  for (const ParameterInfo& entry : table.entries()) {
    Rng rng(seed, "init/" + entry.name);
    const auto values = flat.subspan(static_cast<std::size_t>(entry.id.offset),
                                     static_cast<std::size_t>(entry.id.size()));
    const auto scale = static_cast<double>(entry.init.scale);
    for (float& value : values) {
      switch (entry.init.kind) {
        case Init::Kind::zero:
          value = 0.0F;
          break;
        case Init::Kind::one:
          value = 1.0F;
          break;
        case Init::Kind::normal:
          value = static_cast<float>(scale * rng.normal());
          break;
        case Init::Kind::uniform:
          value = static_cast<float>(rng.uniform(-scale, scale));
          break;
      }
    }
  }
}

void check(const ModelConfig& config, dim_t vocab) {
  if (config.hidden <= 0)
    throw ConfigError(fmt::format("model.hidden = {}: must be at least 1", config.hidden));
  if (config.layers <= 0)
    throw ConfigError(fmt::format("model.layers = {}: must be at least 1", config.layers));
  if (vocab <= 0)
    throw ConfigError(fmt::format("a vocabulary of {} tokens: must have at least one", vocab));
}

}  // namespace

LossSum& LossSum::operator+=(const LossSum& other) {
  loss += other.loss;
  tokens += other.tokens;
  correct += other.correct;
  return *this;
}

/// The layers of a model, without memory for values.
struct Architecture {
  ParameterTable table;
  Embedding embedding;
  std::vector<std::unique_ptr<Mixer>> blocks;
  SoftmaxHead head;

  Architecture(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab,
               std::uint64_t seed)
      : embedding(table, "embedding.", vocab, config.hidden, kInitDeviation),
        blocks(build_blocks(config, feedback, seed, table)),
        head(table, "head.", config.hidden, vocab, kInitDeviation) {}
};

struct LanguageModel::Impl {
  Impl(const ModelConfig& model_config, const FeedbackConfig& feedback, dim_t vocab,
       std::uint64_t seed)
      : config(model_config), architecture(model_config, feedback, vocab, seed) {
    weights.resize(architecture.table.flat_size());
    draw_initial_weights(architecture.table, seed, weights.span());
    for (const auto& block : architecture.blocks) tapes.push_back(block->make_tape());
    activations.resize(architecture.blocks.size() + 1);
  }

  /// Embedding and blocks: activations[i] is the input of block i, the last one the head's input.
  void forward(const TokenBatch& batch, ModelState* state) {
    const dim_t rows = batch.tokens();
    const dim_t width = config.hidden;
    architecture.embedding.forward({weights.data()}, batch.inputs,
                                   activations[0].reshape(rows, width));
    for (std::size_t i = 0; i < architecture.blocks.size(); ++i) {
      const MatrixF carried = state == nullptr ? MatrixF{} : (*state)[i].view();
      architecture.blocks[i]->forward(batch.layout, activations[i], carried, *tapes[i],
                                      activations[i + 1].reshape(rows, width));
    }
  }

  /// On entry d_output holds the gradient of the head's input.
  void backward(const TokenBatch& batch, Gradients d_weights) {
    for (std::size_t i = architecture.blocks.size(); i-- > 0;) {
      architecture.blocks[i]->backward(batch.layout, activations[i], *tapes[i], d_output,
                                       d_input.reshape(batch.tokens(), config.hidden), d_weights);
      std::swap(d_output, d_input);
    }
    architecture.embedding.backward(batch.inputs, d_output, embedding_scratch, d_weights);
  }

  ModelConfig config;
  Architecture architecture;
  Buffer<float> weights;
  Buffer<float> gradients;
  std::vector<std::unique_ptr<MixerTape>> tapes;
  std::vector<Matrix> activations;
  Matrix d_output;
  Matrix d_input;
  EmbeddingScratch embedding_scratch;
  SoftmaxHeadScratch head_scratch;
  PhaseTimes times;
};

LanguageModel::LanguageModel(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab,
                             std::uint64_t seed) {
  check(config, vocab);
  impl_ = std::make_unique<Impl>(config, feedback, vocab, seed);
}

LanguageModel::~LanguageModel() = default;

const ModelConfig& LanguageModel::config() const { return impl_->config; }
dim_t LanguageModel::vocab() const { return impl_->architecture.embedding.vocab(); }
const ParameterTable& LanguageModel::table() const { return impl_->architecture.table; }
std::span<float> LanguageModel::weights() { return impl_->weights.span(); }
std::span<const float> LanguageModel::weights() const {
  return std::as_const(impl_->weights).span();
}
std::span<float> LanguageModel::gradients() { return impl_->gradients.span(); }
const PhaseTimes& LanguageModel::phase_times() const { return impl_->times; }

std::vector<NamedBuffer> LanguageModel::buffers() {
  std::vector<NamedBuffer> all;
  for (const auto& block : impl_->architecture.blocks) {
    for (NamedBuffer& buffer : block->buffers()) all.push_back(std::move(buffer));
  }
  return all;
}

void LanguageModel::prepare(Precision precision) {
  const Weights weights{impl_->weights.data()};
  for (const auto& block : impl_->architecture.blocks) block->prepare(weights, precision);
  impl_->architecture.head.prepare(weights, precision);
}

ModelState LanguageModel::zero_state(dim_t batch) const {
  ModelState state;
  for (const auto& block : impl_->architecture.blocks) {
    state.emplace_back(batch, block->state_width()).zero();
  }
  return state;
}

LossSum LanguageModel::forward_backward(const TokenBatch& batch, double loss_scale,
                                        ModelState* state) {
  Timer timer;
  impl_->gradients.resize(table().flat_size());
  impl_->forward(batch, state);
  impl_->times.forward = timer.seconds();

  timer.restart();
  const Gradients gradients{impl_->gradients.data()};
  const HeadResult result = impl_->architecture.head.forward_backward(
      impl_->activations.back(), batch.targets, static_cast<float>(loss_scale), impl_->head_scratch,
      impl_->d_output.reshape(batch.tokens(), impl_->config.hidden), gradients);
  impl_->times.head = timer.seconds();

  timer.restart();
  impl_->backward(batch, gradients);
  impl_->times.backward = timer.seconds();
  return {result.loss, batch.tokens(), result.correct};
}

LossSum LanguageModel::evaluate(const TokenBatch& batch, ModelState* state) {
  impl_->forward(batch, state);
  const HeadResult result = impl_->architecture.head.evaluate(impl_->activations.back(),
                                                              batch.targets, impl_->head_scratch);
  return {result.loss, batch.tokens(), result.correct};
}

void LanguageModel::logits(const TokenBatch& batch, ModelState* state, MatrixF out) {
  impl_->forward(batch, state);
  impl_->architecture.head.logits(impl_->activations.back(), impl_->head_scratch, out);
}

dim_t count_parameters(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab) {
  check(config, vocab);
  return Architecture(config, feedback, vocab, 0).table.parameter_count();
}

}  // namespace dsf
