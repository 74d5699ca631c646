#include "dsf/model/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/timer.h"
#include "dsf/layers/embedding.h"
#include "dsf/layers/initial_weights.h"
#include "dsf/layers/layer_norm.h"
#include "dsf/layers/position_embedding.h"
#include "dsf/layers/softmax_head.h"
#include "dsf/model/build_blocks.h"
#include "dsf/model/parameter_list.h"

namespace dsf {
namespace {

/// Where the parameters whose names begin so begin in the flat buffers.
dim_t offset_of(const ParameterTable& table, const std::string& prefix) {
  const auto& entries = table.entries();
  return std::find_if(entries.begin(), entries.end(),
                      [&](const ParameterInfo& entry) { return entry.name.starts_with(prefix); })
      ->id.offset;
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
  std::optional<PositionEmbedding> positions;  // attention knows no order by itself
  std::vector<std::unique_ptr<Mixer>> blocks;
  std::optional<LayerNorm> final_norm;  // transformer-like blocks leave their sum unnormalised
  SoftmaxHead head;

  Architecture(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab,
               std::uint64_t seed)
      : embedding(table, "embedding.", vocab, config.hidden, kInitDeviation),
        positions(make_positions(config, table)),
        blocks(build_blocks(config, feedback, seed, table)),
        final_norm(make_final_norm(config, table)),
        head(table, "head.", config.hidden, vocab, kInitDeviation) {}

 private:
  static std::optional<PositionEmbedding> make_positions(const ModelConfig& config,
                                                         ParameterTable& table) {
    if (config.mixer != MixerKind::attention) return std::nullopt;
    return PositionEmbedding(table, "positions.", config.context, config.hidden, kInitDeviation);
  }
  static std::optional<LayerNorm> make_final_norm(const ModelConfig& config,
                                                  ParameterTable& table) {
    if (config.block != BlockKind::transformer) return std::nullopt;
    return LayerNorm(table, "final_norm.", config.hidden);
  }
};

struct LanguageModel::Impl {
  Impl(const ModelConfig& model_config, const FeedbackConfig& feedback, dim_t vocab,
       std::uint64_t seed)
      : config(model_config),
        architecture(model_config, feedback, vocab, seed),
        weights(architecture.table) {
    draw_initial_weights(architecture.table, seed, weights.mutable_span());
    for (const auto& block : architecture.blocks) {
      block_offsets.push_back(
          offset_of(architecture.table, fmt::format("blocks.{}.", tapes.size())));
      tapes.push_back(block->make_tape());
    }
    activations.resize(architecture.blocks.size() + 1);
  }

  /// Embedding, blocks, final norm. activations[i] is the input of block i. Returns the head's
  /// input.
  ConstMatrixF forward(const TokenBatch& batch, ModelState* state) {
    check_fits(batch, state);
    const dim_t rows = batch.tokens();
    const dim_t width = config.hidden;
    const MatrixF embedded = activations[0].reshape(rows, width);
    architecture.embedding.forward(weights, batch.inputs, embedded);
    if (architecture.positions) {
      architecture.positions->forward(weights, batch.layout, embedded);
    }
    for (std::size_t i = 0; i < architecture.blocks.size(); ++i) {
      const MatrixF carried = state == nullptr ? MatrixF{} : (*state)[i].view();
      architecture.blocks[i]->forward(weights, batch.layout, activations[i], carried, *tapes[i],
                                      activations[i + 1].reshape(rows, width));
    }
    if (!architecture.final_norm) return activations.back();
    norm_tape.reshape(rows);
    architecture.final_norm->forward(weights, activations.back(), norm_tape.from_row(0),
                                     normalised.reshape(rows, width));
    return normalised;
  }

  void check_fits(const TokenBatch& batch, const ModelState* state) const {
    if (static_cast<dim_t>(batch.inputs.size()) != batch.tokens()) {
      throw Error(fmt::format("model: {} inputs for {} rows", batch.inputs.size(), batch.tokens()));
    }
    if (state == nullptr) return;
    const auto fits = [&](const Matrix& carried, const auto& block) {
      return carried.rows() == batch.layout.batch() && carried.cols() == block->state_width();
    };
    if (!std::equal(state->begin(), state->end(), architecture.blocks.begin(),
                    architecture.blocks.end(), fits)) {
      throw Error(fmt::format(
          "model: the carried state is not of the {} sequences of the batch; zero_state makes one",
          batch.layout.batch()));
    }
  }

  /// Of what the head is to predict; generation has none.
  static std::span<const token_t> targets_of(const TokenBatch& batch) {
    if (static_cast<dim_t>(batch.targets.size()) == batch.tokens()) return batch.targets;
    throw Error(fmt::format("model: {} targets for {} rows", batch.targets.size(), batch.tokens()));
  }

  /// On entry d_output holds the gradient of the head's input.
  void backward(const TokenBatch& batch, Gradients d_weights, const GradientsReady& ready) {
    if (architecture.final_norm) {
      architecture.final_norm->backward(d_output, activations.back(), norm_tape.from_row(0),
                                        norm_sums, d_output, d_weights);
    }
    for (std::size_t i = architecture.blocks.size(); i-- > 0;) {
      architecture.blocks[i]->backward(batch.layout, activations[i], *tapes[i], d_output,
                                       d_input.reshape(batch.tokens(), config.hidden), d_weights);
      std::swap(d_output, d_input);
      ready(block_offsets[i]);
    }
    if (architecture.positions) {
      architecture.positions->backward(batch.layout, d_output, d_weights);
    }
    architecture.embedding.backward(batch.inputs, d_output, embedding_scratch, d_weights);
    ready(0);
  }

  ModelConfig config;
  Architecture architecture;
  ParameterValues weights;
  Buffer<float> gradients;
  std::vector<dim_t> block_offsets;  // where each block's parameters begin
  std::vector<std::unique_ptr<MixerTape>> tapes;
  std::vector<Matrix> activations;
  LayerNormTape norm_tape;
  Matrix normalised;
  Buffer<float> norm_sums;
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
std::span<float> LanguageModel::mutable_weights() { return impl_->weights.mutable_span(); }
std::span<const float> LanguageModel::weights() const { return impl_->weights.span(); }
std::span<float> LanguageModel::gradients() { return impl_->gradients.span(); }
const PhaseTimes& LanguageModel::phase_times() const { return impl_->times; }

std::vector<NamedBuffer> LanguageModel::buffers() {
  std::vector<NamedBuffer> all;
  for (const auto& block : impl_->architecture.blocks) {
    for (NamedBuffer& buffer : block->buffers()) all.push_back(std::move(buffer));
  }
  return all;
}

void LanguageModel::set_precision(Precision precision) { impl_->weights.set_precision(precision); }

ModelState LanguageModel::zero_state(dim_t batch) const {
  ModelState state;
  for (const auto& block : impl_->architecture.blocks) {
    state.emplace_back(batch, block->state_width()).zero();
  }
  return state;
}

LossSum LanguageModel::forward_backward(const TokenBatch& batch, double loss_scale,
                                        ModelState* state, const GradientsReady& ready) {
  Timer timer;
  impl_->gradients.resize(table().flat_size());
  if (batch.tokens() == 0) {
    impl_->times = {};
    ready(0);
    return {};
  }
  const ConstMatrixF h = impl_->forward(batch, state);
  impl_->times.forward = timer.seconds();

  timer.restart();
  const Gradients gradients{impl_->gradients.data()};
  const HeadResult result = impl_->architecture.head.forward_backward(
      impl_->weights, h, Impl::targets_of(batch), static_cast<float>(loss_scale),
      impl_->head_scratch, impl_->d_output.reshape(batch.tokens(), impl_->config.hidden),
      gradients);
  impl_->times.head = timer.seconds();
  ready(offset_of(table(), "head."));

  timer.restart();
  impl_->backward(batch, gradients, ready);
  impl_->times.backward = timer.seconds();
  return {result.loss, batch.tokens(), result.correct};
}

LossSum LanguageModel::evaluate(const TokenBatch& batch, ModelState* state) {
  const ConstMatrixF h = impl_->forward(batch, state);
  const HeadResult result = impl_->architecture.head.evaluate(
      impl_->weights, h, Impl::targets_of(batch), impl_->head_scratch);
  return {result.loss, batch.tokens(), result.correct};
}

void LanguageModel::logits(const TokenBatch& batch, ModelState* state, MatrixF out) {
  const ConstMatrixF h = impl_->forward(batch, state);
  impl_->architecture.head.logits(impl_->weights, h, impl_->head_scratch, out);
}

ParameterTable parameter_list(const ModelConfig& config, const FeedbackConfig& feedback,
                              dim_t vocab) {
  check(config, vocab);
  return Architecture(config, feedback, vocab, 0).table;
}

dim_t count_parameters(const ModelConfig& config, const FeedbackConfig& feedback, dim_t vocab) {
  return parameter_list(config, feedback, vocab).parameter_count();
}

}  // namespace dsf
