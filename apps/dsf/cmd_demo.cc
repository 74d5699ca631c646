// dsf demo: the same GRU trained with BPTT, FT-BPTT and DSF on one text; a table and a figure.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/dsf/commands.h"
#include "apps/dsf/common_options.h"
#include "dsf/base/error.h"
#include "dsf/base/interrupt.h"
#include "dsf/base/log.h"
#include "dsf/data/corpus_files.h"
#include "dsf/run/run_directory.h"
#include "dsf/run/run_files.h"
#include "dsf/run/run_log.h"
#include "lab/experiment/comparison.h"

namespace dsf {
namespace {

// Debian's jargon-text: the Jargon File, public domain.
constexpr const char* kJargonFile = "/usr/share/doc/jargon-text/jargon.txt.gz";
constexpr const char* kSynthetic = "synthetic:recall";

struct DemoOptions {
  std::string out;
  std::string text;
  std::vector<std::string> settings;
};

// Characters of prose in parallel streams: small enough that memory pays within a minute.
const std::vector<std::string> kProseSettings = {
    "data.tokenizer=char",  "data.min_count=20", "data.batching=stream", "data.context=64",
    "model.mixer=gru",      "model.hidden=128",  "model.layers=1",       "train.batch=32",
    "train.lr=0.003",       "train.clip=1",      "train.steps=1500",     "train.schedule=cosine",
    "train.eval_every=100", "train.seed=1",
};

// The recall language: whole lines, so that the answer is in the same sequence as the question.
const std::vector<std::string> kRecallSettings = {
    "data.tokenizer=word", "data.batching=sentences", "data.context=64", "model.mixer=gru",
    "model.hidden=64",     "model.layers=1",          "train.batch=64",  "train.lr=0.005",
    "train.steps=2000",    "train.eval_every=200",    "train.seed=1",
};

/// The text to train on: the user's, the Jargon File, or, said aloud, the made-up language.
std::string choose_text(const DemoOptions& options) {
  if (!options.text.empty()) return options.text;
  if (std::filesystem::exists(kJargonFile)) return kJargonFile;
  log_warning(
      fmt::format("{} is not there (Debian package jargon-text): training on {} instead, a made-up "
                  "language whose later words depend on earlier ones",
                  kJargonFile, kSynthetic));
  return kSynthetic;
}

std::vector<Assignment> assignments_of(const DemoOptions& options, const std::string& text) {
  std::vector<Assignment> assignments =
      parse_assignments(is_made_up(text) ? kRecallSettings : kProseSettings);
  assignments.push_back(parse_assignment("data.corpus", text, "--text"));
  const std::vector<Assignment> given = parse_assignments(options.settings);
  assignments.insert(assignments.end(), given.begin(), given.end());
  return assignments;
}

/// True if a demo was begun there, by its warm-up or its first run, and not all of its runs are done.
bool was_stopped(const Comparison& demo) {
  const bool begun =
      is_our_run(demo.out / demo.methods.front()) || is_our_run(demo.out / "warm-up");
  const auto is_done = [&demo](const std::string& method) {
    return is_our_run(demo.out / method) && last_event(RunPaths{demo.out / method}.log()) == "done";
  };
  return begun && !std::all_of(demo.methods.begin(), demo.methods.end(), is_done);
}

void run_demo(const DemoOptions& options) {
  const std::string text = choose_text(options);
  const Comparison comparison{assignments_of(options, text),
                              {"bptt", "ft", "dsf"},
                              options.out,
                              /*warms_up=*/true};
  if (!was_stopped(comparison)) check_free_for_new_run(options.out, false);

  InterruptGuard guard;
  guard.stop_on_broken_pipe();
  const auto runs = run_comparison(comparison, InterruptGuard::signal_seen);
  if (runs.empty()) {
    fmt::print("stopped before the first step: no file was changed\n");
    return;
  }
  fmt::print("\n{}\n", comparison_table(runs).to_text());
  const auto stem = std::filesystem::path(options.out) / "comparison";
  const std::string name = std::filesystem::path(text).filename().string();
  if (write_figure(
          comparison_figure(fmt::format("One GRU, three ways back through time ({})", name), runs),
          stem)) {
    fmt::print("figure: {0}.svg, {0}.png\n", stem.string());
  }
  if (runs.size() < comparison.methods.size() || runs.back().summary.interrupted) {
    fmt::print(
        "stopped before the three runs were done; what there is: {}; the same command goes "
        "on\n",
        options.out);
    return;
  }
  fmt::print("runs:   {}/{{bptt,ft,dsf}}; look closer with: dsf eval {}/dsf\n", options.out,
             options.out);
}

}  // namespace

void add_demo_command(CLI::App& app) {
  const auto options = std::make_shared<DemoOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand("demo", "compare BPTT, FT-BPTT and DSF on a text");
  command->add_option("--out", options->out, "directory for the three runs")
      ->required()
      ->option_text("DIR");
  command->add_option("--text", options->text, "UTF-8 text to train on; default: the Jargon File")
      ->option_text("FILE");
  add_set_option(*command, options->settings, "a key of the configuration, as for dsf train");
  command->callback([options] { run_demo(*options); });
}

}  // namespace dsf
