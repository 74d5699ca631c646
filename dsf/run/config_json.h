#pragma once

#include <string>

#include "dsf/run/run_config.h"

namespace dsf {

/// The configuration as a JSON object of sections, each an object of its keys.
std::string to_json(const RunConfig& config);

}  // namespace dsf
