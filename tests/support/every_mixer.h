#pragma once

#include <string>
#include <vector>

#include "dsf/model/model_config.h"

namespace dsf::testing {

/// The names of all mixers; the GRU that resets before is one of its own.
inline std::vector<std::string> every_mixer() {
  std::vector<std::string> names = choice_names<MixerKind>();
  names.emplace_back("gru_reset_before");
  return names;
}

}  // namespace dsf::testing
