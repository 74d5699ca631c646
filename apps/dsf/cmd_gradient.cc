// dsf gradient: how close each feedback's gradient comes to BPTT's, for a run or a configuration.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/dsf/commands.h"
#include "apps/dsf/common_options.h"
#include "dsf/base/error.h"
#include "dsf/base/log.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/kernels/parallel.h"
#include "dsf/run/config_file.h"
#include "dsf/run/run_directory.h"
#include "dsf/use/stored_model.h"
#include "lab/experiment/gradient_course.h"
#include "lab/experiment/step_time.h"

namespace dsf {
namespace {

struct GradientOptions {
  std::string source;
  std::string data;
  std::string checkpoint = "last";
  std::vector<std::string> sets;
  CourseOptions course;
  dim_t steps = 0;
  dim_t every = 100;
  std::string out;
  dim_t threads = 0;
  bool force = false;
  bool json = false;
};

/// A model, its configuration and its text.
struct Subject {
  RunConfig config;
  Dataset data;
  std::unique_ptr<LanguageModel> model;
  dim_t step = 0;  ///< of the checkpoint; 0 for a configuration
};

Subject open_run(const GradientOptions& options) {
  if (!options.sets.empty()) {
    throw UsageError("--set is for a configuration; a run has its own, in its config.toml");
  }
  if (options.steps > 0) throw UsageError("--steps trains a configuration; a run is trained");
  StoredModel stored = open_stored_model(options.source, options.checkpoint, options.threads);
  if (!options.data.empty()) stored.config.data.corpus = options.data;
  Dataset data = load_dataset_of(options.source, stored);
  return {stored.config, std::move(data), std::move(stored.model), stored.step};
}

Subject open_config(const GradientOptions& options) {
  std::vector<Assignment> assignments = read_config_file(options.source);
  if (!options.data.empty()) {
    assignments.push_back(parse_assignment("data.corpus", options.data, "--data"));
  }
  const auto sets = parse_assignments(options.sets);
  assignments.insert(assignments.end(), sets.begin(), sets.end());
  RunConfig config = with_assignments(RunConfig(), assignments);
  if (config.data.corpus.empty()) throw UsageError("no text: give --data");
  if (options.threads > 0) config.train.threads = options.threads;
  if (options.steps > 0) config.train.steps = options.steps;
  resolve(config);
  apply_threads(config.train);
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  Dataset data = load_dataset(config.data, seed);
  auto model = std::make_unique<LanguageModel>(config.model, config.feedback,
                                               data.tokenizer->vocab_size(), seed);
  return {config, std::move(data), std::move(model), 0};
}

/// Everything that was measured.
struct Findings {
  std::vector<CoursePoint> course;  ///< one point if nothing was trained on the way
  std::map<std::string, double> costs;

  const CoursePoint& last() const { return course.back(); }
};

nlohmann::ordered_json rows_json(const std::vector<GradientAgreement>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const GradientAgreement& row : rows) {
    json[row.parameter] = {{"cosine", row.cosine}, {"norm_ratio", row.norm_ratio}};
  }
  return json;
}

nlohmann::ordered_json methods_json(const std::vector<MethodAgreement>& methods) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const MethodAgreement& method : methods) {
    json.push_back({{"method", method.method},
                    {"parameters", rows_json(method.parameters)},
                    {"layers", rows_json(method.layers)}});
  }
  return json;
}

nlohmann::ordered_json lags_json(const std::vector<MethodLags>& methods) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const MethodLags& method : methods) {
    for (std::size_t block = 0; block < method.blocks.size(); ++block) {
      for (const LagAgreement& row : method.blocks[block]) {
        json.push_back({{"method", method.method},
                        {"block", block},
                        {"lag", row.lag},
                        {"cosine", row.cosine},
                        {"norm_ratio", row.norm_ratio},
                        {"exact_norm", row.exact_norm}});
      }
    }
  }
  return json;
}

nlohmann::ordered_json point_json(const CoursePoint& point) {
  nlohmann::ordered_json json = {{"step", point.step}, {"methods", methods_json(point.methods)}};
  if (!point.lags.empty()) json["lags"] = lags_json(point.lags);
  return json;
}

void print_json(const GradientOptions& options, const Findings& found) {
  nlohmann::ordered_json json = {{"source", options.source},
                                 {"split", options.course.comparison.split},
                                 {"batches", options.course.comparison.batches}};
  json.update(point_json(found.last()));
  if (!found.costs.empty()) json["step_time_to_ft"] = found.costs;
  if (found.course.size() > 1) {
    json["course"] = nlohmann::ordered_json::array();
    for (const CoursePoint& point : found.course) json["course"].push_back(point_json(point));
  }
  fmt::print("{}\n", json.dump());
}

void print_tables(const GradientOptions& options, const Subject& subject, const Findings& found) {
  fmt::print("{} after {} steps, {} batches of {}: cosine to BPTT's gradient, ratio of norms\n",
             options.source, found.last().step, options.course.comparison.batches,
             options.course.comparison.split);
  fmt::print("\n{}", gradient_table(found.last().methods).to_text());
  fmt::print("\n{}", gradient_layer_table(found.last().methods).to_text());
  for (const CoursePoint& point : found.course) {
    if (point.lags.empty()) continue;
    fmt::print(
        "\nafter {} steps, loss of each sequence's last token, at the input of a block `lag` steps "
        "before it (BPTT: its norm, lag 0 being 1)\n\n{}",
        point.step, lag_table(point.lags).to_text());
  }
  if (found.course.size() > 1) {
    fmt::print("\ncosine of the recurrent weights' gradient along training by {}\n\n{}",
               subject.config.feedback.method, course_table(found.course).to_text());
  }
}

// Trains if --steps asks for it.
std::vector<CoursePoint> course_of(const GradientOptions& options, Subject& subject) {
  if (options.steps == 0) {
    return {
        course_point(subject.config, subject.data, *subject.model, options.course, subject.step)};
  }
  return gradient_course(
      subject.config, subject.data, options.course, options.every,
      [](const CoursePoint& point) { log_info(fmt::format("step {}", point.step)); },
      *subject.model);
}

void write_figures(const GradientOptions& options, const Subject& subject, Findings& found) {
  const std::filesystem::path out = options.out;
  std::filesystem::create_directories(out);
  found.costs = relative_step_times(subject.config, options.course.comparison.methods,
                                    out / "step_times.json", [] { return 0; });
  for (const NamedFigure& named : gradient_figures(found.course, found.costs)) {
    write_figure(named.figure, out / named.name);
  }
}

// Before anything is computed.
void check_out(const GradientOptions& options) {
  if (options.force || !std::filesystem::is_directory(options.out)) return;
  for (const auto& entry : std::filesystem::directory_iterator(options.out)) {
    if (entry.path().extension() != ".svg") continue;
    throw UsageError(
        fmt::format("{} exists; --force replaces the figures, --out chooses another "
                    "directory",
                    entry.path().string()));
  }
}

void run_gradient(const GradientOptions& options) {
  check_out(options);
  const bool is_run = is_run_directory(options.source);
  if (!is_run && !std::filesystem::is_regular_file(options.source)) {
    throw UsageError(
        fmt::format("{}: neither the directory of a run nor a configuration file", options.source));
  }
  Subject subject = is_run ? open_run(options) : open_config(options);
  Findings found;
  found.course = course_of(options, subject);
  if (!options.out.empty()) write_figures(options, subject, found);
  if (options.json) {
    print_json(options, found);
  } else {
    print_tables(options, subject, found);
  }
}

}  // namespace

void add_gradient_command(CLI::App& app) {
  const auto options = std::make_shared<GradientOptions>();  // shared with the callback below
  options->course.comparison.methods = feedback_examples();
  std::erase(options->course.comparison.methods, "bptt");  // which they are compared with
  CLI::App* command =
      app.add_subcommand("gradient", "how close each feedback's gradient comes to BPTT's");
  command->add_option("source", options->source, "directory of a run, or a TOML configuration")
      ->required();
  command
      ->add_option("--feedback", options->course.comparison.methods, "methods to compare with BPTT")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option("--batches", options->course.comparison.batches, "batches to take the mean over")
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--split", options->course.comparison.split, "train, valid or test")
      ->check(CLI::IsMember({"train", "valid", "test"}))
      ->capture_default_str();
  command->add_option("--checkpoint", options->checkpoint, "of a run: best or last")
      ->check(CLI::IsMember({"best", "last"}))
      ->capture_default_str();
  command->add_option("--data", options->data, "the corpus, if the configuration names another");
  add_set_option(*command, options->sets, "of a configuration: another value");
  command->add_flag("--lags", options->course.lags, "also by the number of steps back in time");
  command
      ->add_option("--steps", options->steps,
                   "of a configuration: train so many steps and compare on the way")
      ->check(whole_number(0));
  command->add_option("--every", options->every, "with --steps: steps between comparisons")
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--out", options->out,
                      "directory for figures: cosine against cost, over lags, along training");
  add_threads_option(*command, options->threads);
  command->add_flag("--force", options->force, "replace the figures in --out");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { run_gradient(*options); });
}

}  // namespace dsf
