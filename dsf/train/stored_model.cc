#include "dsf/train/stored_model.h"

#include "dsf/train/checkpoint.h"
#include "dsf/train/run_directory.h"
#include "dsf/train/training_run.h"

namespace dsf {

StoredModel open_stored_model(const std::filesystem::path& run, const std::string& checkpoint,
                              dim_t threads) {
  const RunPaths paths{run};
  StoredModel stored;
  stored.config = read_run_config(run);
  stored.config.train.threads = threads;
  apply_threads(stored.config.train);
  const std::filesystem::path directory = find_checkpoint(paths.checkpoints(), checkpoint);
  stored.checkpoint = directory.filename().string();
  stored.tokenizer = load_tokenizer(paths.tokenizer());
  stored.model = std::make_unique<LanguageModel>(
      stored.config.model, stored.config.feedback, stored.tokenizer->vocab_size(),
      static_cast<std::uint64_t>(stored.config.train.seed));
  stored.step = load_weights(directory, *stored.model);
  stored.model->prepare(precision_of(stored.config.train));
  return stored;
}

Dataset load_dataset_of(const std::filesystem::path& run, const RunConfig& config) {
  return load_dataset(config.data, static_cast<std::uint64_t>(config.train.seed),
                      RunPaths{run}.tokenizer());
}

}  // namespace dsf
