#pragma once

// A trained model out of a run directory: for evaluation, generation, export.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "dsf/data/dataset.h"
#include "dsf/model/language_model.h"
#include "dsf/run/run_config.h"

namespace dsf {

struct StoredModel {
  RunConfig config;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;  ///< in the run's precision
  dim_t step = 0;                        ///< updates it was trained for
  std::string checkpoint;                ///< its name in the run's checkpoints
  std::uint64_t data_hash = 0;           ///< of the text it was trained on
};

/// What open_stored_model takes where nobody named a checkpoint.
inline constexpr const char* kAnyCheckpoint = "";

/// `checkpoint`: best | last, or kAnyCheckpoint: the best one and, where that is damaged, the
/// newest that is whole, with a warning. "best" is the last one in a run that was not evaluated
/// yet. `threads` 0: as many as there are CPUs. Throws UsageError if `run` is not a run directory,
/// CheckpointError where the checkpoint is missing or damaged.
StoredModel open_stored_model(const std::filesystem::path& run, const std::string& checkpoint,
                              dim_t threads);

/// The corpus of `stored.config`, in the run's own tokens. Warns where it is not the text that the
/// run was trained on.
Dataset load_dataset_of(const std::filesystem::path& run, const StoredModel& stored);

}  // namespace dsf
