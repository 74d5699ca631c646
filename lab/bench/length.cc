#include "lab/bench/length.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsf/base/log.h"
#include "dsf/base/timer.h"

namespace dsf {
namespace {

constexpr dim_t kTokens = 65536;
constexpr dim_t kReferenceSteps = 256;
constexpr dim_t kMostRounds = 7;

struct LengthGroup {
  StepConfig config;
  std::string method;
  Precision precision = Precision::f32;
};

/// One batch a length, all (nearly) of the same number of tokens.
std::vector<TokenBatch> batches_of(dim_t vocab, const std::vector<dim_t>& lengths, dim_t tokens) {
  std::vector<TokenBatch> batches;
  for (const dim_t length : lengths) {
    const dim_t steps = std::min(length, tokens);
    batches.push_back(random_batch(vocab, PackedLayout::uniform(steps, tokens / steps)));
  }
  return batches;
}

double seconds_per_token(const Samples& samples, const TokenBatch& batch) {
  return samples.median_total() / static_cast<double>(batch.tokens());
}

void add_results(const LengthGroup& group, const std::vector<TokenBatch>& batches,
                 const std::vector<Samples>& samples, BenchReport& report) {
  // Ratios are to the length the models are usually trained with, or to the shortest one measured.
  std::size_t reference = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].layout.steps() == kReferenceSteps) reference = i;
  }
  const double base = seconds_per_token(samples[reference], batches[reference]);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const PackedLayout& layout = batches[i].layout;
    const double step = samples[i].median_total();
    const double cost = seconds_per_token(samples[i], batches[i]);
    report.results.push_back({{"config", group.config.name},
                              {"method", group.method},
                              {"precision", name_of(group.precision)},
                              {"steps", layout.steps()},
                              {"batch", layout.batch()},
                              {"tokens", layout.total_rows()},
                              {"step_ms", milliseconds(step)},
                              {"step_ms_min", milliseconds(samples[i].minimum_total())},
                              {"forward_ms", milliseconds(samples[i].median(kForward))},
                              {"backward_ms", milliseconds(samples[i].median(kBackward))},
                              {"us_per_token", cost * 1e6},
                              {"relative_cost", cost / base},
                              {"relative_to_steps", batches[reference].layout.steps()},
                              {"rounds", samples[i].rounds()}});
    report.tables.back().add_row(
        {group.config.name, group.method, name_of(group.precision), fmt::to_string(layout.steps()),
         fmt::to_string(layout.batch()), fmt::format("{:.1f}", step * 1e3),
         fmt::format("{:.1f}", samples[i].median(kForward) * 1e3),
         fmt::format("{:.1f}", samples[i].median(kHead) * 1e3),
         fmt::format("{:.1f}", samples[i].median(kBackward) * 1e3),
         fmt::format("{:.3f}", cost * 1e6), fmt::format("{:.3f}", cost / base)});
  }
}

}  // namespace

BenchReport bench_length(const BenchOptions& options) {
  std::vector<StepConfig> configs = choose_step_configs(options);
  if (options.only.empty()) configs.resize(1);
  return bench_length(configs, options);
}

BenchReport bench_length(const std::vector<StepConfig>& configs, const BenchOptions& options) {
  const Timer timer;
  const dim_t tokens = options.tokens > 0 ? options.tokens : kTokens;
  std::vector<dim_t> lengths = options.steps;
  if (lengths.empty()) lengths = {64, 256, 1024, 4096, 16384, 65536};
  const std::vector<std::string> methods =
      options.methods.empty() ? std::vector<std::string>{"dsf"}
                              : choose(options.methods, {"bptt", "ft", "dsf"}, "method");
  std::vector<LengthGroup> groups;
  for (const StepConfig& config : configs) {
    for (const Precision precision : precisions_of(options)) {
      for (const std::string& method : methods) groups.push_back({config, method, precision});
    }
  }

  BenchReport report;
  report.tables.emplace_back(std::vector<std::string>{"config", "method", "precision", "T", "B",
                                                      "step ms", "forward", "head", "backward",
                                                      "us/token", "relative"});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const LengthGroup& group = groups[g];
    log_info(fmt::format("{} {} {}", group.config.name, group.method, name_of(group.precision)));
    const Timer group_timer;
    const double share =
        (options.seconds - timer.seconds()) / static_cast<double>(groups.size() - g);
    const auto batches = batches_of(group.config.vocab, lengths, tokens);
    TrainingStep training(group.config, group.method, group.precision);
    std::vector<Contestant> contestants;
    contestants.reserve(batches.size());
    for (const TokenBatch& batch : batches) {
      contestants.emplace_back([&training, &batch] { return training.run(batch); });
    }
    // Batches have equally many rows, so the first run allocates the memory of all.
    contestants.front()();
    const auto samples =
        measure_interleaved(contestants, {kMostRounds, share - group_timer.seconds()});
    add_results(group, batches, samples, report);
  }
  return report;
}

}  // namespace dsf
