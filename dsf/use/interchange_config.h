#pragma once

// The config.json beside an exported model.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "dsf/run/run_config.h"

namespace dsf {

struct InterchangeConfig {
  RunConfig run;
  dim_t vocab = 0;
  dim_t step = 0;               ///< updates the model was trained for
  std::uint64_t data_hash = 0;  ///< of the text it was trained on
  nlohmann::json tokenizer;     ///< the run's tokenizer file
  std::string weights;          ///< name of the file they are in; empty in exports of old
};

std::string to_json(const InterchangeConfig& config);

/// Throws ConfigError naming `origin` and what is wrong.
InterchangeConfig parse_interchange_config(const std::string& text, const std::string& origin);

}  // namespace dsf
