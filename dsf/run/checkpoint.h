#pragma once

// Checkpoints: directories that are either whole or not there.
//
//   checkpoints/step-00001234/  weights.safetensors     parameters by name, and the model's buffers
//                               optimizer.safetensors   "m.NAME" and "v.NAME" of every parameter
//                               states.safetensors      carried states; stream batching only
//                               state.json              counters; the others' sizes and checksums
//
// What else lies beside them is in checkpoint_store.h.
//
// A checkpoint is written under a name ending in ".tmp", made durable file by file with state.json
// last, and then renamed; only then the links name it, and what is not kept any more is removed at
// the very end. What is not finite is never saved.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsf/run/checkpoint_store.h"
#include "dsf/run/training_state.h"

namespace dsf {

/// The data_hash of a model that came from elsewhere: it may be trained on any text.
inline constexpr std::uint64_t kUnknownText = 0;

/// Which run a checkpoint belongs to.
struct RunIdentity {
  std::uint64_t config_hash = 0;           ///< fixed_part_hash
  std::uint64_t data_hash = kUnknownText;  ///< of all tokens
};

/// Saves into `checkpoints` (created if missing), points each of `links` ("last", "best") to
/// the new checkpoint, and keeps besides the linked ones the newest `keep`. Changes neither model
/// nor state. Throws DivergenceError if a number to be saved is not finite, IoError if the
/// system refuses; the checkpoints that were there before are still whole then.
void save_checkpoint(const std::filesystem::path& checkpoints, const RunIdentity& identity,
                     const TrainingState& state, LanguageModel& model,
                     const std::vector<std::string>& links, dim_t keep = 1);

/// Bytes that a checkpoint of this model and state takes on disk, its text (a few KB) left out.
std::uint64_t checkpoint_bytes(LanguageModel& model, const TrainingState& state);

/// Where the files of a checkpoint are read: a directory, or, in tests, memory.
struct CheckpointFiles {
  std::filesystem::path directory;  ///< their place, for messages
  /// The contents of a file, nothing if there is none of this name.
  std::function<std::optional<std::string>(const char* name)> read;
};
CheckpointFiles files_in(const std::filesystem::path& directory);

/// Checks everything, then fills `state` and the model's weights and buffers; on CheckpointError,
/// which names the file, neither has changed.
RunIdentity load_checkpoint(const CheckpointFiles& files, TrainingState& state,
                            LanguageModel& model);
RunIdentity load_checkpoint(const std::filesystem::path& checkpoint, TrainingState& state,
                            LanguageModel& model);

/// What weights have behind them.
struct WeightsOrigin {
  dim_t step = 0;  ///< updates
  RunIdentity identity;
};

/// Weights and buffers only, with the same checks on them.
WeightsOrigin load_weights(const std::filesystem::path& checkpoint, LanguageModel& model);

}  // namespace dsf
