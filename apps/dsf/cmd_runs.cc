// dsf runs: the runs below a directory.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "lab/experiment/run_views.h"

namespace dsf {
namespace {

struct RunsOptions {
  std::string directory = ".";
  bool json = false;
};

void run_runs(const RunsOptions& options) {
  const std::vector<RunRecord> runs = read_runs(options.directory);
  if (options.json) {
    fmt::print("{}\n", to_json(runs));
  } else if (runs.empty()) {
    fmt::print("no runs in {}\n", options.directory);
  } else {
    fmt::print("{}", run_table(runs).to_text());
  }
}

}  // namespace

void add_runs_command(CLI::App& app) {
  const auto options = std::make_shared<RunsOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand("runs", "list the runs below a directory");
  command->add_option("directory", options->directory, "where to look")->capture_default_str();
  command->add_flag("--json", options->json, "print one JSON array");
  command->callback([options] { run_runs(*options); });
}

}  // namespace dsf
