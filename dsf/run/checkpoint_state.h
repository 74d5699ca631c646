#pragma once

// state.json: the counters of a checkpoint, and what its other files must look like. Its own
// checksum is its last line, over all the bytes before it.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "dsf/model/safetensors.h"
#include "dsf/run/checkpoint.h"

namespace dsf {

struct FileSeal {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  PartSeals parts;  ///< empty in checkpoints of versions up to 0.1.0
};

struct CheckpointState {
  RunIdentity identity;
  TrainingCounters counters;
  dim_t adam_updates = 0;
  std::map<std::string, FileSeal> files;
};

std::string to_json(const CheckpointState& state);
/// Throws CheckpointError naming `origin` if the text is damaged or of another format version.
CheckpointState parse_checkpoint_state(const std::string& text, const std::string& origin);

}  // namespace dsf
