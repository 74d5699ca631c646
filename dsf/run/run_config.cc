#include "dsf/run/run_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "dsf/base/error.h"
#include "dsf/data/corpus_files.h"
#include "dsf/kernels/parallel.h"

namespace dsf {
namespace {

// "a.txt,b.txt" -> "/home/me/a.txt,/home/me/b.txt"
std::string absolute_names(const std::string& names) {
  if (names.empty() || is_made_up(names)) return names;
  std::error_code ignored;
  const auto made_absolute = [](const std::filesystem::path& name) {
    return std::filesystem::absolute(name).lexically_normal().string();
  };
  if (std::filesystem::exists(names, ignored)) return made_absolute(names);  // commas and all
  std::string absolute;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    if (begin > 0) absolute += ',';
    if (end > begin) absolute += made_absolute(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return absolute;
}

}  // namespace

void validate(const RunConfig& config) {
  const std::vector<double>& range = config.feedback.range;
  if (range.size() != 2 || range[0] > range[1]) {
    throw ConfigError(
        fmt::format("feedback.range = {}: must be [low, high] with low <= high", range));
  }
  const std::vector<double>& milestones = config.train.schedule.milestones;
  if (!std::is_sorted(milestones.begin(), milestones.end())) {
    throw ConfigError(fmt::format("train.milestones = {}: must ascend", milestones));
  }
  const DataConfig& data = config.data;
  if (data.valid_fraction + data.test_fraction >= 1.0) {
    throw ConfigError(
        fmt::format("data.valid_fraction = {} and data.test_fraction = {}: nothing is left to "
                    "train on; their sum must be below 1",
                    data.valid_fraction, data.test_fraction));
  }
  if (config.model.mixer == MixerKind::attention && data.batching == Batching::stream) {
    throw ConfigError(
        "data.batching = \"stream\" carries a state from batch to batch, and model.mixer = "
        "\"attention\" has none; use data.batching = \"blocks\" or \"sentences\"");
  }
}

void resolve(RunConfig& config) {
  for (std::string* names : {&config.data.corpus, &config.data.valid, &config.data.test}) {
    *names = absolute_names(*names);
  }
  if (config.train.precision == PrecisionChoice::automatic) {
    config.train.precision = has_fast_bf16() ? PrecisionChoice::bf16 : PrecisionChoice::f32;
  }
}

Precision precision_of(const TrainConfig& config) {
  return config.precision == PrecisionChoice::bf16 ? Precision::bf16 : Precision::f32;
}

AdamConfig adam_config_of(const TrainConfig& config) {
  AdamConfig adam = config.adam;
  adam.decoupled = config.optimizer == Optimizer::adamw;
  return adam;
}

void apply_threads(const TrainConfig& config) {
  if (config.threads > 0) set_thread_count(static_cast<int>(config.threads));
}

}  // namespace dsf
