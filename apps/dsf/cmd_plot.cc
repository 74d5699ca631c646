// dsf plot: the curves of runs.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/dsf/commands.h"
#include "dsf/base/error.h"
#include "lab/experiment/run_views.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

struct PlotOptions {
  std::vector<std::string> runs;
  std::string out = "plots";
  bool force = false;
};

void run_plot(const PlotOptions& options) {
  std::vector<RunRecord> runs;
  for (const std::string& path : options.runs) runs.push_back(read_run_record(path));
  const std::vector<NamedFigure> figures = run_figures(runs);
  if (figures.empty()) throw UsageError("the logs have no training steps to draw yet");
  for (const NamedFigure& named : figures) {
    const fs::path svg = fs::path(options.out) / (named.name + ".svg");
    if (!options.force && fs::exists(svg)) {
      throw UsageError(fmt::format(
          "{} exists; --force replaces it, --out chooses another directory", svg.string()));
    }
  }
  fs::create_directories(options.out);
  for (const NamedFigure& named : figures) {
    const fs::path stem = fs::path(options.out) / named.name;
    if (!write_figure(named.figure, stem)) {
      throw Error("no figure was drawn: install gnuplot and run this again");
    }
    fmt::print("{0}.svg  {0}.png\n", stem.string());
  }
}

}  // namespace

void add_plot_command(CLI::App& app) {
  const auto options = std::make_shared<PlotOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand(
      "plot", "draw loss, perplexity, learning rate, gradient norm and speed of one or more runs");
  command->add_option("runs", options->runs, "directories of the runs")->required();
  command->add_option("--out", options->out, "directory for the figures")->capture_default_str();
  command->add_flag("--force", options->force, "replace figures that are there");
  command->callback([options] { run_plot(*options); });
}

}  // namespace dsf
