// dsf info: what this program and this machine are, and how large a configured model is.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/dsf/commands.h"
#include "apps/dsf/config_options.h"
#include "dsf/base/cpu_info.h"
#include "dsf/base/error.h"
#include "dsf/base/json_text.h"
#include "dsf/base/max_isa.h"
#include "dsf/base/version.h"
#include "dsf/kernels/gemm.h"
#include "dsf/kernels/parallel.h"
#include "dsf/train/progress.h"
#include "dsf/train/training_memory.h"

namespace dsf {
namespace {

struct InfoOptions {
  ConfigOptions config;
  bool json = false;
};

const std::vector<ConfigFlag> kFlags = {{"--data", "data.corpus"}, {"--threads", "train.threads"}};

struct ModelInfo {
  dim_t vocab = 0;
  dim_t parameters = 0;
  MemoryEstimate memory;
};

// The vocabulary as configured, or as large as the corpus makes it.
ModelInfo model_info(const RunConfig& config) {
  ModelInfo info;
  if (config.data.corpus.empty()) {
    if (config.data.vocab == 0) {
      throw UsageError(
          "the size of the vocabulary is open: set data.vocab, or give the corpus with --data");
    }
    info.vocab = config.data.vocab;
    info.memory = estimate_training_memory(config, info.vocab);
  } else {
    const Dataset data = load_dataset(config.data, static_cast<std::uint64_t>(config.train.seed));
    info.vocab = data.tokenizer->vocab_size();
    info.memory = estimate_training_memory(config, data);
  }
  info.parameters = count_parameters(config.model, config.feedback, info.vocab);
  return info;
}

// As DSF_MAX_ISA limits it.
std::string_view max_isa_name() {
  const std::optional<Isa> limit = max_isa();
  return limit ? name_of(*limit) : "unlimited";
}

nlohmann::ordered_json machine_json(const RunConfig& config) {
  return {{"version", version()},      {"commit", git_commit()},
          {"build", build_type()},     {"compiler", compiler()},
          {"cpu", cpu_name()},         {"features", cpu_features()},
          {"max_isa", max_isa_name()}, {"bf16", name_of(bf16_by())},
          {"threads", thread_count()}, {"precision", name_of(config.train.precision)}};
}

void run_info(const InfoOptions& options) {
  const std::vector<Assignment> assignments = options.config.assignments();
  RunConfig config = with_assignments(RunConfig(), assignments);
  resolve(config);
  apply_threads(config.train);
  nlohmann::ordered_json json = machine_json(config);
  if (!assignments.empty()) {
    const ModelInfo model = model_info(config);
    json["mixer"] = name_of(config.model.mixer);
    json["hidden"] = config.model.hidden;
    json["layers"] = config.model.layers;
    json["feedback"] = config.feedback.method;
    json["vocab"] = model.vocab;
    json["parameters"] = model.parameters;
    json["peak_mb"] = std::round(model.memory.bytes / 1e5) / 10.0;
    json["peak_mb_is"] =
        model.memory.at_most
            ? "an upper bound for training: all batches full (--data gives the text's own)"
            : "an estimate for training: the program, the text and a step on the largest batch";
  }
  if (options.json) {
    fmt::print("{}\n", json_text(json));
    return;
  }
  for (const auto& [key, value] : json.items()) {
    fmt::print("{:<12} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

}  // namespace

void add_info_command(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand(
      "info",
      "version, CPU, threads and precision; with a configuration also the size of the model");
  options->config.add_to(*command, kFlags);
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { run_info(*options); });
}

}  // namespace dsf
