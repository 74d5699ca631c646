#include "dsf/use/stored_model.h"

#include <fmt/format.h>

#include "dsf/base/error.h"
#include "dsf/base/log.h"
#include "dsf/run/checkpoint.h"
#include "dsf/run/config_file.h"
#include "dsf/run/run_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

void load_named(const fs::path& checkpoints, const std::string& name, StoredModel& stored) {
  const fs::path directory = find_checkpoint(checkpoints, name);
  const WeightsOrigin origin = load_weights(directory, *stored.model);
  stored.step = origin.step;
  stored.data_hash = origin.identity.data_hash;
  stored.checkpoint = directory.filename();
}

// The best one or, if that is damaged, the newest that is whole.
void load_any(const fs::path& checkpoints, StoredModel& stored) {
  try {
    load_named(checkpoints, "best", stored);
  } catch (const CheckpointError& error) {
    for (const fs::path& checkpoint : list_checkpoints(checkpoints)) {
      try {
        load_named(checkpoints, checkpoint.filename(), stored);
      } catch (const CheckpointError&) {
        continue;  // what is wrong with the best one is the reason to tell
      }
      log_warning(fmt::format("{}; taking {}, the newest checkpoint that is whole", error.what(),
                              checkpoint.string()));
      return;
    }
    throw;
  }
}

}  // namespace

StoredModel open_stored_model(const fs::path& run, const std::string& checkpoint, dim_t threads) {
  const RunPaths paths{run};
  StoredModel stored;
  stored.config = read_run_config(run);
  stored.config.train.threads = threads;
  apply_threads(stored.config.train);
  stored.tokenizer = load_tokenizer(paths.tokenizer());
  stored.model = std::make_unique<LanguageModel>(
      stored.config.model, stored.config.feedback, stored.tokenizer->vocab_size(),
      static_cast<std::uint64_t>(stored.config.train.seed));
  if (checkpoint == kAnyCheckpoint) {
    load_any(paths.checkpoints(), stored);
  } else {
    load_named(paths.checkpoints(), checkpoint, stored);
  }
  stored.model->set_precision(precision_of(stored.config.train));
  return stored;
}

Dataset load_dataset_of(const fs::path& run, const StoredModel& stored) {
  const RunConfig& config = stored.config;
  Dataset data = load_dataset(config.data, static_cast<std::uint64_t>(config.train.seed),
                              RunPaths{run}.tokenizer());
  if (stored.data_hash != kUnknownText && stored.data_hash != data_hash(data)) {
    log_warning(fmt::format("{} is not the text that {} was trained on, or has changed since",
                            config.data.corpus, run.string()));
  }
  return data;
}

}  // namespace dsf
