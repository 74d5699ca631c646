// dsf reproduce: an experiment of the paper, with the paper's numbers beside ours, or one beyond
// it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "apps/dsf/commands.h"
#include "apps/dsf/common_options.h"
#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/interrupt.h"
#include "dsf/base/nearest_name.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/kernels/parallel.h"
#include "lab/bench/measure.h"
#include "lab/experiment/complexity_report.h"
#include "lab/experiment/feedback_experiment.h"
#include "lab/experiment/feedback_report.h"
#include "lab/experiment/reproduction_report.h"

namespace dsf {
namespace {

constexpr const char* kFeedback = "feedback";
constexpr const char* kComplexity = "complexity";
// For one shape of the complexity's sweeps.
constexpr double kSecondsAShape = 20.0;

struct ReproduceOptions {
  std::string name;
  bool list = false;
  std::string scale = "quick";
  std::string data;
  std::string wikitext;
  std::string out;
  std::vector<std::string> only;
  std::vector<std::string> methods;
  dim_t seeds = 1;
  dim_t threads = 0;
  std::vector<std::string> settings;
  bool json = false;
};

std::vector<std::string> known_names() {
  std::vector<std::string> names = paper_experiment_names();
  names.emplace_back(kFeedback);
  names.emplace_back(kComplexity);
  return names;
}

void check_known(const std::string& name) {
  const auto known = known_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(fmt::format("there is no experiment \"{}\"{} (known: {})", name,
                               did_you_mean(name, known), fmt::join(known, ", ")));
}

PaperExperiment experiment_named(const std::string& name, Scale scale,
                                 const std::string& wikitext) {
  return name == kFeedback ? feedback_experiment(scale, wikitext) : paper_experiment(name, scale);
}

// With one seed; if learning rates are tried, each is a run.
std::size_t count_runs(const PaperExperiment& experiment) {
  std::size_t runs = 0;
  for (const PaperModel& model : experiment.models) {
    runs += model.methods.size() * std::max<std::size_t>(model.rates.size(), 1);
  }
  return runs;
}

void print_list() {
  for (const std::string& name : known_names()) {
    if (name == kComplexity) continue;
    const PaperExperiment experiment = experiment_named(name, Scale::quick, "");
    fmt::print("{:<14} {:<9} {} ({} runs at quick scale)\n", name, experiment.source,
               experiment.title, count_runs(experiment));
  }
  fmt::print("{:<14} {:<9} Growth of the backward pass with T and D, measured\n", kComplexity,
             "table 1");
}

/// Leaves the models and methods that are asked for.
void narrow(const ReproduceOptions& options, PaperExperiment& experiment) {
  std::vector<std::string> names;
  for (const PaperModel& model : experiment.models) names.push_back(model.name);
  const auto chosen = choose(options.only, names, "model");
  std::erase_if(experiment.models, [&chosen](const PaperModel& model) {
    return std::find(chosen.begin(), chosen.end(), model.name) == chosen.end();
  });
  if (options.methods.empty()) return;
  if (experiment.name != kFeedback) {
    throw UsageError(
        fmt::format("--feedback chooses the methods of the experiment {}; {} has its own",
                    kFeedback, experiment.name));
  }
  for (const std::string& method : options.methods) parse_feedback_method(method);
  for (PaperModel& model : experiment.models) model.methods = options.methods;
}

/// Of a directory or file its last name; of a made-up language its own, without settings.
std::string text_name(const std::string& corpus) {
  constexpr std::string_view kMadeUp = "synthetic:";
  if (corpus.starts_with(kMadeUp)) return corpus.substr(0, corpus.find(':', kMadeUp.size()));
  return (std::filesystem::path(corpus) / "").parent_path().filename().string();
}

/// Of all texts that the experiment's models are trained on, `data` if a model names none.
std::string text_names(const PaperExperiment& experiment, const std::string& data) {
  std::vector<std::string> names;
  for (const PaperModel& model : experiment.models) {
    const std::string name = text_name(model.corpus.empty() ? data : model.corpus);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

Scale scale_of(const ReproduceOptions& options) {
  return options.scale == "full" ? Scale::full : Scale::quick;
}

// What tells the runs of a grid apart cannot be the same in all of them.
void check_not_of_the_grid(const Assignment& setting) {
  const Field& field = *setting.field;
  if (field.section == "train" && field.key == "seed") {
    throw UsageError("--set train.seed: the grid has its own seeds; --seeds N trains seeds 1 to N");
  }
  if (field.section == "feedback" && field.key == "method") {
    throw UsageError(
        "--set feedback.method: the grid trains every method of the experiment; `dsf reproduce "
        "feedback` takes a list of them with --feedback");
  }
}

Reproduction reproduction_of(const ReproduceOptions& options) {
  const Scale scale = scale_of(options);
  Reproduction reproduction{
      experiment_named(options.name, scale, options.wikitext), {}, options.out, options.seeds};
  narrow(options, reproduction.experiment);
  reproduction.experiment.title += fmt::format(
      ", {}, {} scale", text_names(reproduction.experiment, options.data), options.scale);
  auto& assignments = reproduction.assignments;
  assignments.push_back(parse_assignment("data.corpus", options.data, "--data"));
  assignments.push_back(
      parse_assignment("train.threads", fmt::format("{}", options.threads), "--threads"));
  const auto settings = parse_assignments(options.settings);
  for (const Assignment& setting : settings) check_not_of_the_grid(setting);
  assignments.insert(assignments.end(), settings.begin(), settings.end());
  return reproduction;
}

/// What an experiment leaves besides its runs.
struct Report {
  std::string heading;
  std::vector<Table> tables;
  std::string json;
  std::vector<NamedFigure> figures;
};

Report paper_report(const PaperExperiment& experiment, const std::vector<ModelRuns>& models) {
  Report report{
      fmt::format("{} ({}); best validation perplexity", experiment.title, experiment.source),
      {reproduction_table(models)},
      reproduction_json(experiment, models),
      {}};
  report.figures.push_back({experiment.name, reproduction_figure(experiment, models)});
  return report;
}

Report feedback_report(const Reproduction& reproduction, const std::vector<ModelRuns>& models) {
  const auto rows = feedback_rows(reproduction, models, InterruptGuard::signal_seen);
  Report report{
      fmt::format(
          "{}, {} seed(s). Perplexity a token: best validation, and test of that "
          "checkpoint; mean and deviation over the seeds. Every method takes the best of the same "
          "learning rates, by validation with seed 1. Step time: in turn with FT-BPTT's, medians.",
          reproduction.experiment.title, reproduction.seeds),
      {feedback_table(rows)},
      feedback_json(reproduction.experiment, rows),
      {}};
  for (const ModelRuns& model : models) {
    report.figures.push_back({"gap_" + model.model.name, feedback_figure(model.model.name, rows)});
  }
  return report;
}

Report train_and_report(const ReproduceOptions& options) {
  const Reproduction reproduction = reproduction_of(options);
  const auto models = run_reproduction(reproduction, InterruptGuard::signal_seen);
  Report report = options.name == kFeedback ? feedback_report(reproduction, models)
                                            : paper_report(reproduction.experiment, models);
  for (NamedFigure& curves : curve_figures(models)) {
    report.figures.push_back({options.name + "_" + curves.name, std::move(curves.figure)});
  }
  return report;
}

Report complexity_report(const ReproduceOptions& options) {
  if (!options.data.empty() || !options.settings.empty() || !options.only.empty()) {
    throw UsageError(
        "complexity measures layers on random numbers: it takes no --data, --set or "
        "--only");
  }
  TrainConfig train;
  train.threads = options.threads;
  apply_threads(train);
  const std::filesystem::path out = options.out;
  std::filesystem::create_directories(out);
  const auto sweeps = complexity_sweeps(scale_of(options));
  const auto points =
      measure_complexity(sweeps, out / "times.json", kSecondsAShape, InterruptGuard::signal_seen);
  return {
      fmt::format("Complexity (table 1), {} scale: exponents of the time of a GRU layer over "
                  "length T and width D, f32, {} threads; medians of interleaved runs. Path: "
                  "the scan alone for DSF, what backward takes longer than FT-BPTT's for BPTT.",
                  options.scale, thread_count()),
      {exponent_table(sweeps, points), crossover_table(sweeps, points), complexity_times(points)},
      complexity_json(sweeps, points),
      complexity_figures(sweeps, points)};
}

// Named after the experiment, so that experiments with the same models can share a directory.
void write_report(const Report& report, const std::string& name, const std::filesystem::path& out) {
  std::filesystem::create_directories(out);
  std::string markdown = report.heading + "\n";
  for (const Table& table : report.tables) markdown += "\n" + table.to_markdown();
  replace_file(out / (name + ".md"), markdown);
  replace_file(out / (name + ".json"), report.json);
  for (const NamedFigure& named : report.figures) {
    if (!named.figure.curves.empty()) write_figure(named.figure, out / named.name);
  }
}

void run_reproduce(ReproduceOptions options) {
  if (options.list) {
    print_list();
    return;
  }
  if (options.name.empty()) {
    throw UsageError("give the name of an experiment; --list shows them");
  }
  check_known(options.name);
  if (options.name != kComplexity && options.data.empty()) {
    throw UsageError(fmt::format("{}: give the text with --data", options.name));
  }
  if (options.out.empty()) {
    options.out = fmt::format("runs/reproduce-{}-{}", options.name, options.scale);
  }
  InterruptGuard guard;
  guard.stop_on_broken_pipe();
  const Report report =
      options.name == kComplexity ? complexity_report(options) : train_and_report(options);
  write_report(report, options.name, options.out);
  if (options.json) {
    fmt::print("{}", report.json);
    return;
  }
  fmt::print("{}\n", report.heading);
  for (const Table& table : report.tables) fmt::print("\n{}", table.to_text());
  fmt::print("\n{}: {}.md, {}.json, figures as SVG and PNG\n", options.out, options.name,
             options.name);
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
  command->add_option("--wikitext", options->wikitext,
                      "feedback: WikiText directory, for its part of the experiment");
  command->add_option(
      "--out", options->out,
      "directory of the runs (runs/reproduce-NAME-SCALE); what is finished there is "
      "not run again");
  command->add_option("--only", options->only, "models of the experiment, by name")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--feedback", options->methods, "feedback: methods instead of its own")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--seeds", options->seeds, "runs of each kind, for mean and deviation")
      ->check(whole_number(1))
      ->capture_default_str();
  add_threads_option(*command, options->threads);
  add_set_option(*command, options->settings, "overrides a setting of all runs");
  command->add_flag("--json", options->json, "print the table as JSON");
  command->callback([options] { run_reproduce(*options); });
}

}  // namespace dsf
