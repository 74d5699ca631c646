#pragma once

// The one place that turns a configuration's names into layers.

#include <cstdint>
#include <memory>
#include <vector>

#include "dsf/feedback/feedback_config.h"
#include "dsf/layers/mixer.h"
#include "dsf/layers/parameter.h"
#include "dsf/model/model_config.h"

namespace dsf {

/// Deviation of the initial embedding and linear weights.
inline constexpr float kInitDeviation = 0.02F;

/// The blocks of the model, their parameters added to `table` as "blocks.<i>.<...>". Throws
/// ConfigError on an unknown mixer, block, cell variant or feedback, naming the known ones.
std::vector<std::unique_ptr<Mixer>> build_blocks(const ModelConfig& config,
                                                 const FeedbackConfig& feedback, std::uint64_t seed,
                                                 ParameterTable& table);

}  // namespace dsf
