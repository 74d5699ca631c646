// dsf train: starts or resumes a run.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "apps/dsf/config_options.h"
#include "apps/dsf/ranks.h"
#include "dsf/base/error.h"
#include "dsf/base/interrupt.h"
#include "dsf/base/log.h"
#include "dsf/train/progress.h"
#include "dsf/train/training_run.h"

namespace dsf {
namespace {

struct TrainOptions {
  ConfigOptions config;
  std::string out;
  bool resume = false;
  bool force = false;
  bool quiet = false;
  bool shard_optimizer = false;
  bool help_config = false;
  bool force_memory = false;
};

const std::vector<ConfigFlag> kFlags = {
    {"--data", "data.corpus"},
    {"--valid", "data.valid"},
    {"--test", "data.test"},
    {"--tokenizer", "data.tokenizer"},
    {"--batching", "data.batching"},
    {"--context", "data.context"},
    {"--mixer", "model.mixer"},
    {"--hidden", "model.hidden"},
    {"--layers", "model.layers"},
    {"--feedback", "feedback.method"},
    {"--batch", "train.batch"},
    {"--lr", "train.lr"},
    {"--epochs", "train.epochs"},
    {"--steps", "train.steps"},
    {"--eval-every", "train.eval_every"},
    {"--seed", "train.seed"},
    {"--threads", "train.threads"},
    {"--precision", "train.precision"},
    {"--tensorboard", "train.tensorboard"},
    {"--on-nan", "train.on_nan"},
};

void print_summary(const RunSummary& summary, const std::string& out) {
  const bool took_no_step = summary.tokens_per_second == 0.0;
  if (summary.interrupted && took_no_step) {
    fmt::print("stopped before the first step: no file was changed\n");
    return;
  }
  if (summary.interrupted) {
    fmt::print("stopped after step {} of {}; go on with: dsf train --resume --out {}\n",
               summary.steps, summary.total_steps, out);
    return;
  }
  if (took_no_step) {
    fmt::print(
        "nothing left to do: the run has all its {} steps; to go further: dsf train --resume --out "
        "{} --steps {}\n",
        summary.steps, out, 2 * summary.steps);
    return;
  }
  const std::string best = summary.best_perplexity
                               ? fmt::format("best validation perplexity {:.2f} at step {}",
                                             *summary.best_perplexity, summary.best_step)
                               : "no evaluation";
  const std::string unknown =
      summary.unknown_rate > 0.0
          ? fmt::format(", {:.2f} % of the validation tokens are <unk>", 100 * summary.unknown_rate)
          : "";
  fmt::print("done: {} steps in {}, {} tokens/s, {}{}; {}\n", summary.steps,
             format_duration(summary.seconds), format_count(summary.tokens_per_second), best,
             unknown, out);
}

/// Says from the first step on that a signal lets the step be saved.
class AnnouncingDisplay final : public ProgressDisplay {
 public:
  explicit AnnouncingDisplay(InterruptGuard& guard) : guard_(guard) {}
  void on_start(const StartReport& report) override {
    ProgressDisplay::on_start(report);
    guard_.announce("stopping: the step at hand is finished and saved (Ctrl-C again ends at once)");
  }

 private:
  InterruptGuard& guard_;
};

void run_train(const TrainOptions& options) {
  if (options.help_config) {
    fmt::print("{}", config_help());
    return;
  }
  if (options.out.empty()) throw UsageError("--out is missing: the directory of the run");
  RunRequest request{options.out, options.config.assignments(), options.resume, options.force,
                     options.force_memory};
  if (options.shard_optimizer) {
    request.assignments.push_back(
        parse_assignment("train.shard_optimizer", "true", "--shard-optimizer"));
  }
  InterruptGuard guard;
  guard.stop_on_broken_pipe();
  with_ranks([&](Communicator& ranks) {
    if (ranks.leads() && !options.quiet) {
      guard.announce("stopping: nothing is trained yet, no file is changed");
    }
    TrainObserver silent;
    AnnouncingDisplay display(guard);
    TrainObserver& observer = options.quiet ? silent : display;
    const RunSummary summary = run_training(request, observer, InterruptGuard::next_request, ranks);
    if (!ranks.leads()) return;
    clear_live_line();
    print_summary(summary, options.out);
  });
}

}  // namespace

void add_train_command(CLI::App& app) {
  const auto options = std::make_shared<TrainOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand("train", "train a model, or go on training one");
  command->add_option("--out", options->out, "directory of the run")->option_text("RUN");
  options->config.add_to(*command, kFlags);
  command->add_flag("--resume", options->resume, "go on with the run in --out");
  command->add_flag("--force", options->force, "replace the run in --out");
  command->add_flag("--force-memory", options->force_memory,
                    "train even if the model seems too large for this machine's memory");
  command->add_flag("--quiet", options->quiet, "show no progress");
  command->add_flag("--shard-optimizer", options->shard_optimizer,
                    "several ranks: each keeps its part of the optimiser's moments only "
                    "(train.shard_optimizer)");
  command->add_flag("--help-config", options->help_config, "list all keys of the configuration");
  command->callback([options] { run_train(*options); });
}

}  // namespace dsf
