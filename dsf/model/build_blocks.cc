#include "dsf/model/build_blocks.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/layers/plain_block.h"
#include "dsf/layers/recurrent.h"

namespace dsf {

std::vector<std::unique_ptr<Mixer>> build_blocks(const ModelConfig& config,
                                                 const FeedbackConfig& feedback, std::uint64_t seed,
                                                 ParameterTable& table) {
  if (config.block != "plain") {
    throw ConfigError(fmt::format("model.block = \"{}\": known blocks are: plain", config.block));
  }
  const float projection_deviation = kInitDeviation / std::sqrt(static_cast<float>(config.layers));
  std::vector<std::unique_ptr<Mixer>> blocks;
  for (dim_t i = 0; i < config.layers; ++i) {
    const std::string prefix = fmt::format("blocks.{}.", i);
    auto mixer = make_recurrent_layer(table, prefix + "mixer.", config.mixer, config.reset,
                                      config.hidden, config.hidden, feedback, seed);
    blocks.push_back(std::make_unique<PlainBlock>(table, prefix, config.hidden, config.skip,
                                                  projection_deviation, std::move(mixer)));
  }
  return blocks;
}

}  // namespace dsf
