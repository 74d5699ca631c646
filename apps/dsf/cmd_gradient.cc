// dsf gradient: how close each feedback's gradient comes to BPTT's, for a run or a configuration.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/dsf/commands.h"
#include "dsf/base/error.h"
#include "dsf/experiment/gradient_comparison.h"
#include "dsf/train/config_file.h"
#include "dsf/train/run_directory.h"
#include "dsf/train/stored_model.h"

namespace dsf {
namespace {

struct GradientOptions {
  std::string source;
  std::string data;
  std::string checkpoint = "last";
  std::vector<std::string> sets;
  GradientComparisonOptions comparison;
  dim_t threads = 0;
  bool json = false;
};

/// A model, its configuration and its text.
struct Subject {
  RunConfig config;
  Dataset data;
  std::unique_ptr<LanguageModel> model;
  dim_t step = 0;
};

Subject open_run(const GradientOptions& options) {
  if (!options.sets.empty()) {
    throw UsageError("--set is for a configuration; a run has its own, in its config.toml");
  }
  StoredModel stored = open_stored_model(options.source, options.checkpoint, options.threads);
  if (!options.data.empty()) stored.config.data.corpus = options.data;
  Dataset data = load_dataset_of(options.source, stored.config);
  return {stored.config, std::move(data), std::move(stored.model), stored.step};
}

Subject open_config(const GradientOptions& options) {
  std::vector<Assignment> assignments = read_config_file(options.source);
  if (!options.data.empty()) {
    assignments.push_back(parse_assignment("data.corpus", options.data, "--data"));
  }
  for (const std::string& text : options.sets) assignments.push_back(parse_assignment(text));
  RunConfig config = with_assignments(RunConfig(), assignments);
  if (config.data.corpus.empty()) throw UsageError("no text: give --data");
  config.train.threads = options.threads;
  resolve(config);
  apply_threads(config.train);
  const auto seed = static_cast<std::uint64_t>(config.train.seed);
  Dataset data = load_dataset(config.data, seed);
  auto model = std::make_unique<LanguageModel>(config.model, config.feedback,
                                               data.tokenizer->vocab_size(), seed);
  return {config, std::move(data), std::move(model), 0};
}

void print_json(const GradientOptions& options, const Subject& subject,
                const std::vector<MethodAgreement>& methods) {
  nlohmann::ordered_json json = {{"source", options.source},
                                 {"step", subject.step},
                                 {"split", options.comparison.split},
                                 {"batches", options.comparison.batches},
                                 {"methods", nlohmann::ordered_json::array()}};
  for (const MethodAgreement& method : methods) {
    nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
    for (const GradientAgreement& one : method.parameters) {
      parameters[one.parameter] = {{"cosine", one.cosine}, {"norm_ratio", one.norm_ratio}};
    }
    json["methods"].push_back({{"method", method.method}, {"parameters", parameters}});
  }
  fmt::print("{}\n", json.dump());
}

void run_gradient(const GradientOptions& options) {
  const bool is_run = is_run_directory(options.source);
  if (!is_run && !std::filesystem::is_regular_file(options.source)) {
    throw UsageError(
        fmt::format("{}: neither the directory of a run nor a configuration file", options.source));
  }
  const Subject subject = is_run ? open_run(options) : open_config(options);
  const auto methods =
      compare_gradients(subject.config, subject.data, *subject.model, options.comparison);
  if (options.json) {
    print_json(options, subject, methods);
    return;
  }
  fmt::print("{} after {} steps, {} batches of {}: cosine to BPTT's gradient, ratio of norms\n\n{}",
             options.source, subject.step, options.comparison.batches, options.comparison.split,
             gradient_table(methods).to_text());
}

}  // namespace

void add_gradient_command(CLI::App& app) {
  const auto options = std::make_shared<GradientOptions>();  // shared with the callback below
  options->comparison.methods = {"ft",         "dsf",        "gated", "gated:diagonal",
                                 "iterated:1", "iterated:2", "fitted"};
  CLI::App* command =
      app.add_subcommand("gradient", "how close each feedback's gradient comes to BPTT's");
  command->add_option("source", options->source, "directory of a run, or a TOML configuration")
      ->required();
  command->add_option("--feedback", options->comparison.methods, "methods to compare with BPTT")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_option("--batches", options->comparison.batches, "batches to take the mean over")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--split", options->comparison.split, "train, valid or test")
      ->check(CLI::IsMember({"train", "valid", "test"}))
      ->capture_default_str();
  command->add_option("--checkpoint", options->checkpoint, "of a run: best or last")
      ->check(CLI::IsMember({"best", "last"}))
      ->capture_default_str();
  command->add_option("--data", options->data, "the corpus, where the configuration names another");
  command->add_option("--set", options->sets, "section.key=value, for a configuration")
      ->option_text("SECTION.KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--threads", options->threads, "0: the CPUs this process may run on")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { run_gradient(*options); });
}

}  // namespace dsf
