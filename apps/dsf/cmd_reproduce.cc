// dsf reproduce: an experiment of the paper, with the paper's numbers beside ours.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/interrupt.h"
#include "dsf/experiment/reproduction.h"

namespace dsf {
namespace {

struct ReproduceOptions {
  std::string name;
  bool list = false;
  std::string scale = "quick";
  std::string data;
  std::string out;
  dim_t seeds = 1;
  dim_t threads = 0;
  std::vector<std::string> settings;
  bool json = false;
};

void print_list() {
  for (const std::string& name : paper_experiment_names()) {
    const PaperExperiment experiment = paper_experiment(name, Scale::full);
    std::size_t runs = 0;
    for (const PaperModel& model : experiment.models) runs += model.methods.size();
    fmt::print("{:<14} {:<9} {} ({} runs a seed)\n", name, experiment.source, experiment.title,
               runs);
  }
}

Reproduction reproduction_of(const ReproduceOptions& options) {
  if (options.name.empty() || options.data.empty() || options.out.empty()) {
    throw UsageError("give the name of an experiment (--list shows them), --data and --out");
  }
  const Scale scale = options.scale == "full" ? Scale::full : Scale::quick;
  Reproduction reproduction{paper_experiment(options.name, scale), {}, options.out, options.seeds};
  auto& assignments = reproduction.assignments;
  assignments.push_back(parse_assignment("data.corpus", options.data, "--data"));
  assignments.push_back(
      parse_assignment("train.threads", fmt::format("{}", options.threads), "--threads"));
  for (const std::string& setting : options.settings) {
    assignments.push_back(parse_assignment(setting));
  }
  return reproduction;
}

void run_reproduce(const ReproduceOptions& options) {
  if (options.list) {
    print_list();
    return;
  }
  const Reproduction reproduction = reproduction_of(options);
  const PaperExperiment& experiment = reproduction.experiment;
  const InterruptGuard guard;
  const auto models = run_reproduction(reproduction, InterruptGuard::signal_seen);

  const Table table = reproduction_table(models);
  const std::string json = reproduction_json(experiment, models);
  const std::filesystem::path out = options.out;
  std::filesystem::create_directories(out);
  replace_file(
      out / "table.md",
      fmt::format("# {} ({}), {} scale\n\nBest validation perplexity.\n\n{}", experiment.title,
                  experiment.source, options.scale, table.to_markdown()));
  replace_file(out / "table.json", json);
  const Figure figure = reproduction_figure(experiment, models);
  if (!figure.curves.empty()) write_figure(figure, out / "figure");
  if (options.json) {
    fmt::print("{}", json);
  } else {
    fmt::print("{} ({}), {} scale; best validation perplexity\n\n{}\n", experiment.title,
               experiment.source, options.scale, table.to_text());
    fmt::print("{0}/table.md, table.json, figure.svg, figure.png\n", out.string());
  }
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  const auto options = std::make_shared<ReproduceOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand("reproduce", "run an experiment of the paper");
  command->add_option("name", options->name, "the experiment; --list shows them");
  command->add_flag("--list", options->list, "print the experiments");
  command
      ->add_option("--scale", options->scale,
                   "full: the paper's settings; quick: shrunk to minutes")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  command->add_option("--data", options->data, "Penn Treebank or WikiText directory");
  command->add_option("--out", options->out,
                      "directory of the runs; what is finished there is not run again");
  command->add_option("--seeds", options->seeds, "runs of each kind, for mean and deviation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--threads", options->threads, "0: the CPUs this process may run on")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--set", options->settings, "overrides a setting of all runs")
      ->option_text("SECTION.KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--json", options->json, "print the table as JSON");
  command->callback([options] { run_reproduce(*options); });
}

}  // namespace dsf
