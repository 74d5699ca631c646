// dsf runs: the runs below a directory.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/dsf/commands.h"
#include "dsf/base/error_text.h"
#include "apps/dsf/json_text.h"
#include "dsf/base/log.h"
#include "lab/experiment/run_record.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

struct RunsOptions {
  std::string directory = ".";
  bool json = false;
};

nlohmann::ordered_json json_of(const RunRecord& run) {
  const ModelConfig& model = run.config.model;
  return {{"run", run.root.string()},
          {"state", run.state},
          {"method", run.config.feedback.method},
          {"mixer", name_of(model.mixer)},
          {"layers", model.layers},
          {"hidden", model.hidden},
          {"vocab", run.vocab},
          {"parameters", run.parameters},
          {"step", run.step},
          {"total_steps", run.total_steps},
          {"best_perplexity", run.best_perplexity ? nlohmann::ordered_json(*run.best_perplexity)
                                                  : nlohmann::ordered_json()},
          {"tokens_per_second", run.tokens_per_second},
          {"seconds", run.seconds}};
}

void run_runs(const RunsOptions& options) {
  std::vector<RunRecord> runs;
  for (const fs::path& path : find_runs(options.directory)) {
    try {
      runs.push_back(read_run_record(path.lexically_normal()));
    } catch (const std::exception& error) {  // one damaged run does not hide the others
      log_warning(fmt::format("{} is left out: {}", path.string(), error_text(error)));
    }
  }
  if (options.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const RunRecord& run : runs) all.push_back(json_of(run));
    fmt::print("{}\n", json_text(all));
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
