#pragma once

#include "dsf/feedback/feedback_config.h"
#include "dsf/layers/parameter.h"
#include "dsf/model/model_config.h"

namespace dsf {

/// Names, shapes and places of a configuration's parameters, without allocating the model. Throws
/// ConfigError as LanguageModel does.
ParameterTable parameter_list(const ModelConfig& config, const FeedbackConfig& feedback,
                              dim_t vocab);

}  // namespace dsf
