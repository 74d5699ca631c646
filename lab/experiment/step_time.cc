#include "lab/experiment/step_time.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dsf/base/cpu_info.h"
#include "dsf/base/file.h"
#include "dsf/base/hash.h"
#include "dsf/base/log.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/kernels/parallel.h"
#include "dsf/run/config_file.h"
#include "dsf/train/training_batches.h"
#include "lab/bench/training_step.h"
#include "lab/experiment/gradient_comparison.h"

namespace dsf {
namespace {

using nlohmann::json;

constexpr const char* kReference = "ft";
constexpr RoundLimits kLimits = {31, 60.0};

/// The first batch of training.
TokenBatch first_batch(const RunConfig& config, const Dataset& data) {
  Batcher batcher = training_batches(config, data.train, data.tokenizer->bos());
  TokenBatch batch;
  batcher.next(batch);
  return batch;
}

/// Measures methods against FT-BPTT on one batch.
class StepRace {
 public:
  StepRace(const RunConfig& config, const Dataset& data)
      : config_(config),
        model_{"", config.model, data.tokenizer->vocab_size(), 0, 0},
        batch_(first_batch(config, data)) {}

  double relative_time(const std::string& method) {
    const double ordinary = race(method);
    const auto period = static_cast<double>(config_.feedback.refit_every);
    if (period == 0.0 || !learns_from_batches(method)) return ordinary;
    return ordinary + (race("bptt") - ordinary) / period;
  }

 private:
  // Of the step that most batches get: calibration is over before the first round.
  double race(const std::string& method) {
    const Precision precision = precision_of(config_.train);
    const FeedbackConfig feedback = feedback_with(config_, method);
    TrainingStep own(model_, feedback, precision);
    TrainingStep reference(model_, feedback_with(config_, kReference), precision);
    for (dim_t i = 0; i <= warm_up_of(feedback); ++i) own.run(batch_);
    reference.run(batch_);
    const std::vector<Contestant> contestants = {[&] { return own.run(batch_); },
                                                 [&] { return reference.run(batch_); }};
    const auto samples = measure_interleaved(contestants, kLimits);
    return samples[0].median_total() / samples[1].median_total();
  }

  const RunConfig& config_;
  StepConfig model_;
  TokenBatch batch_;
};

/// What a step's time depends on, besides the method: the model with its batches, and the machine.
std::string conditions_of(RunConfig config) {
  config.feedback.method = kReference;
  config.train.seed = 1;
  return fmt::format("model {}, {}, {} threads", to_hex(fixed_part_hash(config)), cpu_name(),
                     thread_count());
}

/// Times taken under other conditions, or that are not ours, are measured again.
std::map<std::string, double> read_times(const std::filesystem::path& file,
                                         const std::string& conditions) {
  if (!std::filesystem::exists(file)) return {};
  const json stored = json::parse(read_file(file), nullptr, false);
  std::map<std::string, double> times;
  if (!stored.is_object() || stored.value("conditions", json()) != conditions) return times;
  const json known = stored.value("times", json::object());
  for (const auto& [method, value] : known.items()) {
    if (value.is_number()) times[method] = value.get<double>();
  }
  return times;
}

}  // namespace

std::map<std::string, double> relative_step_times(const RunConfig& config,
                                                  const std::vector<std::string>& methods,
                                                  const std::filesystem::path& file,
                                                  const StopRequest& stop) {
  apply_threads(config.train);
  const std::string conditions = conditions_of(config);
  std::map<std::string, double> times = read_times(file, conditions);
  times[kReference] = 1.0;
  std::vector<std::string> missing;
  for (const std::string& method : methods) {
    if (!times.contains(method)) missing.push_back(method);
  }
  if (missing.empty() || stop() != 0) return times;

  const Dataset data = load_dataset(config.data, static_cast<std::uint64_t>(config.train.seed));
  StepRace race(config, data);
  for (const std::string& method : missing) {
    if (stop() != 0) break;
    log_info(fmt::format("step time of {} beside {}: {}", method, kReference,
                         file.parent_path().string()));
    times[method] = race.relative_time(method);
    replace_file(file, json({{"conditions", conditions}, {"times", times}}).dump(2) + "\n");
  }
  return times;
}

}  // namespace dsf
