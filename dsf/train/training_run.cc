#include "dsf/train/training_run.h"

#include <optional>

#include "dsf/base/error.h"
#include "dsf/base/file.h"

namespace dsf {
namespace {

RunConfig requested_config(const RunRequest& request) {
  RunConfig config;
  if (request.resume) {
    config = with_resumed_assignments(read_run_config(request.out), request.assignments);
  } else {
    check_free_for_new_run(request.out, request.force);
    config = with_assignments(RunConfig(), request.assignments);
  }
  if (config.data.corpus.empty()) {
    throw UsageError(
        "no text to train on: give --data with a PTB or WikiText directory, a text file, or "
        "synthetic:recall");
  }
  resolve(config);
  return config;
}

Dataset load_data(const RunRequest& request, const RunConfig& config) {
  std::optional<std::filesystem::path> tokenizer = RunPaths{request.out}.tokenizer();
  // A run that died while it started may have none yet; the same text gives the same one.
  if (!request.resume || !std::filesystem::exists(*tokenizer)) tokenizer.reset();
  return load_dataset(config.data, static_cast<std::uint64_t>(config.train.seed), tokenizer);
}

}  // namespace

RunConfig read_run_config(const std::filesystem::path& root) {
  check_is_run(root);
  RunConfig config = with_assignments(RunConfig(), read_config_file(RunPaths{root}.config()));
  resolve(config);
  return config;
}

RunSummary run_training(const RunRequest& request, TrainObserver& observer,
                        const StopRequest& stop) {
  if (request.resume && request.force) {
    throw UsageError("--resume continues a run and --force replaces it: give one of the two");
  }
  const RunPaths paths{request.out};
  const RunConfig config = requested_config(request);
  std::optional<DirectoryLock> lock;
  if (is_run_directory(paths.root)) lock.emplace(paths.root);

  apply_threads(config.train);
  const Dataset data = load_data(request, config);
  LanguageModel model(config.model, config.feedback, data.tokenizer->vocab_size(),
                      static_cast<std::uint64_t>(config.train.seed));
  Trainer trainer(config, data, model, paths);
  if (request.resume) trainer.restore();
  trainer.require_space();

  // From here on files change.
  if (!request.resume) {
    make_run_directory(paths);
    if (!lock) lock.emplace(paths.root);
  }
  replace_file(paths.config(), to_toml(config));
  if (!std::filesystem::exists(paths.tokenizer())) data.tokenizer->save(paths.tokenizer());
  return trainer.run(observer, stop);
}

}  // namespace dsf
