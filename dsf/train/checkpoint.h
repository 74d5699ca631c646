#pragma once

// Checkpoints: directories that are either whole or not there.
//
//   checkpoints/step-00001234/  weights.safetensors     parameters by name, and the model's buffers
//                               optimizer.safetensors   "m.NAME" and "v.NAME" of every parameter
//                               states.safetensors      carried states; stream batching only
//                               state.json              counters, and size and checksum of the
//                               others
//   checkpoints/last, best      links to two of them
//
// A checkpoint is written under a name ending in ".tmp", made durable file by file with state.json
// last, and then renamed. Links change by rename. What no link names any more is removed at the
// very end.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dsf/train/training_state.h"

namespace dsf {

/// Which run a checkpoint belongs to.
struct RunIdentity {
  std::uint64_t config_hash = 0;  ///< fixed_part_hash
  std::uint64_t data_hash = 0;    ///< of all tokens
};

/// Saves into `checkpoints` (created where missing) and points each of `links` ("last", "best") to
/// the new checkpoint. Changes neither model nor state.
void save_checkpoint(const std::filesystem::path& checkpoints, const RunIdentity& identity,
                     const TrainingState& state, LanguageModel& model,
                     const std::vector<std::string>& links);

/// Points `link` to the checkpoint of `step`, in one instant.
void link_checkpoint(const std::filesystem::path& checkpoints, dim_t step, const std::string& link);

/// Checks everything, then fills `state` and the model's weights and buffers; on CheckpointError,
/// which names the file, neither has changed. The caller prepares the model.
RunIdentity load_checkpoint(const std::filesystem::path& checkpoint, TrainingState& state,
                            LanguageModel& model);

/// Weights and buffers only, with the same checks on them. Returns the updates they have behind
/// them.
dim_t load_weights(const std::filesystem::path& checkpoint, LanguageModel& model);

/// The names of all whole-looking checkpoints, newest first; unfinished ones are not listed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& checkpoints);

/// The directory behind "last" or "best". Throws CheckpointError where there is none.
std::filesystem::path find_checkpoint(const std::filesystem::path& checkpoints,
                                      const std::string& link);

}  // namespace dsf
