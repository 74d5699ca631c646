#include "dsf/train/training_run.h"

#include <fmt/format.h>

#include <optional>

#include "dsf/base/directory_lock.h"
#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "dsf/dist/launch.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/kernels/parallel.h"
#include "dsf/train/memory_check.h"
#include "dsf/train/rate_jump.h"
#include "dsf/train/shared_state.h"
#include "dsf/train/trainer.h"
#include "dsf/train/training_batches.h"
#include "dsf/use/long_lines.h"

namespace dsf {
namespace {

RunConfig requested_config(const RunRequest& request) {
  if (request.resume && request.force) {
    throw UsageError("--resume continues a run and --force replaces it: give one of the two");
  }
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

// What one process can do and several cannot.
void check_for_ranks(const RunConfig& config, int ranks) {
  if (ranks == 1) return;
  if (config.train.batch < ranks) {
    throw ConfigError(
        fmt::format("train.batch = {}: {} ranks share the sequences of a batch; it must have at "
                    "least as many",
                    config.train.batch, ranks));
  }
  const std::string& method = config.feedback.method;
  if (learns_from_batches(method)) {
    throw ConfigError(
        fmt::format("feedback.method = \"{}\" fits its diagonal on a whole batch, and {} ranks see "
                    "a part of it each; train it with one",
                    method, ranks));
  }
}

// Rank 0's: it alone looks at the run directory, and the others' CPUs may differ.
RunConfig agreed_config(const RunRequest& request, Communicator& ranks) {
  if (ranks.size() == 1) return requested_config(request);
  std::string text;
  if (ranks.leads()) {
    const RunConfig config = requested_config(request);
    check_for_ranks(config, ranks.size());
    text = to_toml(config);
  }
  return with_assignments(RunConfig(), parse_config(broadcast_text(ranks, text), "rank 0"));
}

Dataset load_data(const RunRequest& request, const RunConfig& config) {
  std::optional<std::filesystem::path> tokenizer = RunPaths{request.out}.tokenizer();
  // A run that died while it started may have none yet; the same text gives the same one.
  if (!request.resume || !std::filesystem::exists(*tokenizer)) tokenizer.reset();
  return load_dataset(config.data, static_cast<std::uint64_t>(config.train.seed), tokenizer);
}

// Rank 0 first: what is wrong with the text is told once, and the others find its token cache.
Dataset load_data_in_turn(const RunRequest& request, const RunConfig& config, Communicator& ranks) {
  if (ranks.leads()) {
    Dataset data = load_data(request, config);
    ranks.barrier();
    return data;
  }
  ranks.barrier();
  return load_data(request, config);
}

void choose_threads(const RunConfig& config, const Communicator& ranks) {
  set_thread_count(threads_per_rank(ranks));
  apply_threads(config.train);
  const std::string advice = binding_advice(ranks, thread_count());
  if (ranks.leads() && !advice.empty()) log_warning(advice);
}

RunSummary stopped_at(dim_t step) {
  RunSummary summary;
  summary.steps = step;
  summary.interrupted = true;
  return summary;
}

}  // namespace

RunSummary run_training(const RunRequest& request, TrainObserver& observer,
                        const StopRequest& stop) {
  return run_training(request, observer, stop, single_process());
}

RunSummary run_training(const RunRequest& request, TrainObserver& observer, const StopRequest& stop,
                        Communicator& ranks) {
  const RunPaths paths{request.out};
  const RunConfig config = agreed_config(request, ranks);
  std::optional<DirectoryLock> lock;
  if (ranks.leads() && is_run_directory(paths.root)) lock.emplace(paths.root);

  choose_threads(config, ranks);
  Dataset data;
  try {
    data = load_data_in_turn(request, config, ranks);
  } catch (const InterruptedError&) {
    if (ranks.size() > 1) throw;  // the others wait and have to be told
    return stopped_at(0);
  }
  if (!request.force_memory) require_memory(config, data, ranks.local_ranks());
  LanguageModel model(config.model, config.feedback, data.tokenizer->vocab_size(),
                      static_cast<std::uint64_t>(config.train.seed));
  Trainer trainer(config, data, model, paths, ranks);
  require_same(ranks, trainer.identity().data_hash, "the text of " + config.data.corpus);
  if (request.resume) trainer.restore();
  trainer.require_space();
  if (request.resume && ranks.leads()) {
    warn_of_rate_jump(
        read_run_config(request.out), config, trainer.state().step,
        training_batches(config, data.train, data.tokenizer->bos()).batches_per_epoch());
  }
  if (ranks.leads()) warn_of_long_lines(data.train, config, "the training text");

  // Who asked to stop while the text was read finds every file as it was.
  if (asks_to_stop(agree_on_signal(ranks, stop()))) return stopped_at(trainer.state().step);

  TrainObserver silent;
  TrainObserver& told = ranks.leads() ? observer : silent;
  if (trainer.is_done()) return trainer.run(told, stop);  // and other settings are for nothing

  // From here on files change.
  if (ranks.leads()) {
    if (!request.resume) make_run_directory(paths, request.force, lock);
    replace_file(paths.config(), to_toml(config));
    if (!std::filesystem::exists(paths.tokenizer())) data.tokenizer->save(paths.tokenizer());
  }
  return trainer.run(told, stop);
}

}  // namespace dsf
