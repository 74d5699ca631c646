#include "dsf/model/build_blocks.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/layers/attention.h"
#include "dsf/layers/ema.h"
#include "dsf/layers/plain_block.h"
#include "dsf/layers/recurrent.h"
#include "dsf/layers/transformer_block.h"

namespace dsf {
namespace {

/// `shared_work`: of all recurrent layers, if they rebuild their gates; else null.
std::unique_ptr<Mixer> build_mixer(const ModelConfig& config, const FeedbackConfig& feedback,
                                   std::uint64_t seed, const std::string& prefix,
                                   const std::shared_ptr<CellWork>& shared_work,
                                   ParameterTable& table) {
  const dim_t width = config.hidden;
  if (config.mixer == MixerKind::attention) {
    return std::make_unique<Attention>(table, prefix, width, Attention::kDefaultHeads,
                                       kInitDeviation);
  }
  if (config.mixer == MixerKind::ema) {
    return std::make_unique<Ema>(table, prefix, width, Ema::default_channels(width),
                                 Ema::kDefaultDims, kInitDeviation);
  }
  auto layer =
      make_recurrent_layer(table, prefix, std::string(name_of(config.mixer)),
                           std::string(name_of(config.reset)), width, width, feedback, seed);
  if (shared_work) layer->rebuild_gates_in(shared_work);
  return layer;
}

/// Maps whose output is added to the skip connection start smaller the more of them there are.
float projection_deviation(dim_t sub_layers) {
  return kInitDeviation / std::sqrt(static_cast<float>(sub_layers));
}

std::unique_ptr<Mixer> build_block(const ModelConfig& config, const std::string& prefix,
                                   std::unique_ptr<Mixer> mixer, ParameterTable& table) {
  if (config.block == BlockKind::transformer) {
    return std::make_unique<TransformerBlock>(
        table, prefix, config.hidden, config.skip, kInitDeviation,
        projection_deviation(2 * config.layers), std::move(mixer));
  }
  return std::make_unique<PlainBlock>(table, prefix, config.hidden, config.skip,
                                      projection_deviation(config.layers), std::move(mixer));
}

}  // namespace

std::vector<std::unique_ptr<Mixer>> build_blocks(const ModelConfig& config,
                                                 const FeedbackConfig& feedback, std::uint64_t seed,
                                                 ParameterTable& table) {
  if (config.recompute && !cell_of(config.mixer)) {
    throw ConfigError(fmt::format("model.recompute = true: only {} can, and model.mixer is {}",
                                  in_words(choice_names<CellKind>()), name_of(config.mixer)));
  }
  const auto shared_work = config.recompute ? std::make_shared<CellWork>() : nullptr;
  std::vector<std::unique_ptr<Mixer>> blocks;
  for (dim_t i = 0; i < config.layers; ++i) {
    const std::string prefix = fmt::format("blocks.{}.", i);
    auto mixer = build_mixer(config, feedback, seed, prefix + "mixer.", shared_work, table);
    blocks.push_back(build_block(config, prefix, std::move(mixer), table));
  }
  return blocks;
}

}  // namespace dsf
