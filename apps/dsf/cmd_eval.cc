// dsf eval: the loss of a trained model on a split of its corpus.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/dsf/commands.h"
#include "dsf/train/evaluation.h"
#include "dsf/train/progress.h"
#include "dsf/train/stored_model.h"

namespace dsf {
namespace {

struct EvalOptions {
  std::string run;
  std::string split = "valid";
  std::string checkpoint = "best";
  std::string data;
  dim_t threads = 0;
  bool json = false;
};

void print_json(const EvalOptions& options, const StoredModel& stored,
                const EvaluationReport& report) {
  const nlohmann::ordered_json json = {{"run", options.run},
                                       {"split", options.split},
                                       {"checkpoint", options.checkpoint},
                                       {"step", stored.step},
                                       {"loss", report.loss},
                                       {"perplexity", report.perplexity},
                                       {"tokens", report.sum.tokens},
                                       {"accuracy", report.accuracy},
                                       {"bits_per_token", report.bits_per_token},
                                       {"bits_per_character", report.bits_per_character},
                                       {"bits_per_byte", report.bits_per_byte}};
  fmt::print("{}\n", json.dump());
}

void print_text(const EvalOptions& options, const StoredModel& stored,
                const EvaluationReport& report) {
  fmt::print("{} ({}, step {}) on {}\n", options.run, options.checkpoint, stored.step,
             options.split);
  fmt::print("  loss                {:.6f}\n", report.loss);
  fmt::print("  perplexity          {:.4f}\n", report.perplexity);
  fmt::print("  tokens              {}\n", format_count(static_cast<double>(report.sum.tokens)));
  fmt::print("  accuracy            {:.4f}\n", report.accuracy);
  fmt::print("  bits per token      {:.4f}\n", report.bits_per_token);
  fmt::print("  bits per character  {:.4f}\n", report.bits_per_character);
  fmt::print("  bits per byte       {:.4f}\n", report.bits_per_byte);
}

void run_eval(const EvalOptions& options) {
  StoredModel stored = open_stored_model(options.run, options.checkpoint, options.threads);
  if (!options.data.empty()) stored.config.data.corpus = options.data;
  const Dataset data = load_dataset_of(options.run, stored.config);
  const Split& split = data.split(options.split);
  const LossSum sum = evaluate_split(split, stored.config, data.tokenizer->bos(), *stored.model);
  const EvaluationReport report = report_of(sum, split);
  if (options.json) {
    print_json(options, stored, report);
  } else {
    print_text(options, stored, report);
  }
}

}  // namespace

void add_eval_command(CLI::App& app) {
  const auto options = std::make_shared<EvalOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand("eval", "loss and perplexity of a trained model");
  command->add_option("run", options->run, "directory of the run")->required();
  command->add_option("--split", options->split, "train, valid or test")
      ->check(CLI::IsMember({"train", "valid", "test"}))
      ->capture_default_str();
  command->add_option("--checkpoint", options->checkpoint, "best or last")
      ->check(CLI::IsMember({"best", "last"}))
      ->capture_default_str();
  command->add_option("--data", options->data, "the corpus, where it has moved since training");
  command->add_option("--threads", options->threads, "0: the CPUs this process may run on")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { run_eval(*options); });
}

}  // namespace dsf
