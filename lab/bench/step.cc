#include "lab/bench/step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "dsf/base/log.h"
#include "dsf/base/timer.h"
#include "lab/bench/gemms.h"
#include "lab/bench/peak_rate.h"

namespace dsf {
namespace {

const std::vector<std::string> kMethods = {"bptt", "ft", "dsf"};

// Runs that a plan must have room for: one that fills the memory, three that count.
constexpr double kPlannedRuns = 4.0;
// A step over its GEMMs, and the GEMMs themselves, which are measured in part.
constexpr double kPlannedStepTime = 1.6;
// Of the memory that is free; the rest is for the limit's own operands, and for others.
constexpr double kMemoryShare = 0.7;

/// One method in one precision, measured.
struct StepResult {
  std::string method;
  double peak_mb = 0.0;
  Samples samples;
};

struct GroupResult {
  StepConfig config;
  Precision precision = Precision::f32;
  std::vector<StepResult> methods;
  std::vector<GemmJob> jobs;
  Samples gemms;
  double peak_flops = 0.0;  // of one run of `peak`
  Samples peak;

  /// What the multiply-add units can do, operations a second.
  double peak_rate() const { return peak_flops / peak.median_total(); }
  double limit(const std::string& method, bool minimum) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!needs(method, jobs[i])) continue;
      const auto part = static_cast<dim_t>(i);
      sum += minimum ? gemms.minimum(part) : gemms.median(part);
    }
    return sum;
  }
};

struct Plan {
  std::vector<std::string> methods;
  std::vector<Precision> precisions;
  std::vector<double> rates;  // of GEMMs, one a precision
};

double planned_seconds(const StepConfig& config, const Plan& plan, std::size_t precision) {
  const auto jobs = step_gemms(config.model, config.vocab, config.steps, config.batch);
  double flops = 0.0;
  for (const std::string& method : plan.methods) flops += step_flops(jobs, method);
  return kPlannedRuns * kPlannedStepTime * flops / plan.rates[precision];
}

/// Halves the batch until time and memory suffice.
StepConfig fit(StepConfig config, const Plan& plan, double seconds) {
  const dim_t wanted = config.batch;
  const double memory = kMemoryShare * available_memory();
  for (; config.batch > 1; config.batch /= 2) {
    double needed = 0.0;
    for (std::size_t i = 0; i < plan.precisions.size(); ++i) {
      needed += planned_seconds(config, plan, i);
    }
    const double bytes = static_cast<double>(plan.methods.size()) * estimate_step_memory(config);
    if (needed <= seconds && bytes <= memory) break;
  }
  if (config.batch != wanted) {
    log_info(fmt::format("{}: batch {} instead of {}, to fit in the time and memory there is",
                         config.name, config.batch, wanted));
  }
  return config;
}

/// All methods of one precision, and the GEMMs: models of one precision are alive at a time, and
/// all ratios that matter are within it.
GroupResult measure_group(const StepConfig& config, const Plan& plan, Precision precision,
                          double seconds) {
  const Timer timer;
  GroupResult group{config, precision, {}, {}, {}, 0.0, {}};
  const TokenBatch batch =
      random_batch(config.vocab, PackedLayout::uniform(config.steps, config.batch));
  std::vector<std::unique_ptr<TrainingStep>> models;
  std::vector<Contestant> contestants;
  TrainingStep(config, plan.methods.front(), precision).run(batch);  // fills what the process keeps
  for (const std::string& method : plan.methods) {
    const PeakMemory memory;
    models.push_back(std::make_unique<TrainingStep>(config, method, precision));
    models.back()->run(batch);
    group.methods.push_back({method, memory.megabytes(), {}});
    contestants.emplace_back([&batch, model = models.back().get()] { return model->run(batch); });
  }
  for (const GemmJob& job : step_gemms(config.model, config.vocab, config.steps, config.batch)) {
    const auto& methods = plan.methods;
    if (std::any_of(methods.begin(), methods.end(), [&](auto& m) { return needs(m, job); })) {
      group.jobs.push_back(job);
    }
  }
  GemmTimer gemms(group.jobs, precision);
  contestants.emplace_back([&gemms] { return gemms.run(); });
  PeakRate peak(precision);
  group.peak_flops = peak.flops();
  contestants.emplace_back([&peak] { return PartTimes{peak.run()}; });

  RoundLimits limits;
  limits.seconds = std::max(0.0, seconds - timer.seconds());
  std::vector<Samples> samples = measure_interleaved(contestants, limits);
  group.gemms = std::move(samples[samples.size() - 2]);
  group.peak = std::move(samples.back());
  for (std::size_t i = 0; i < group.methods.size(); ++i) {
    group.methods[i].samples = std::move(samples[i]);
  }
  return group;
}

nlohmann::ordered_json gemms_json(const GroupResult& group, const std::string& method) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < group.jobs.size(); ++i) {
    const GemmJob& job = group.jobs[i];
    if (!needs(method, job)) continue;
    const double seconds = group.gemms.median(static_cast<dim_t>(i));
    list.push_back({{"name", job.name},
                    {"m", job.m},
                    {"n", job.n},
                    {"k", job.k},
                    {"count", job.count},
                    {"ms", milliseconds(seconds)},
                    {"gflops", job.flops() / seconds / 1e9}});
  }
  return list;
}

nlohmann::ordered_json to_json(const GroupResult& group, const StepResult& result, bool profile) {
  const StepConfig& config = group.config;
  const double step = result.samples.median_total();
  const double limit = group.limit(result.method, false);
  const double flops = step_flops(group.jobs, result.method);
  nlohmann::ordered_json json = {
      {"config", config.name},
      {"method", result.method},
      {"precision", name_of(group.precision)},
      {"batch", config.batch},
      {"steps", config.steps},
      {"vocab", config.vocab},
      {"tokens_per_second", static_cast<double>(config.batch * config.steps) / step},
      {"step_ms", milliseconds(step)},
      {"step_ms_min", milliseconds(result.samples.minimum_total())},
      {"forward_ms", milliseconds(result.samples.median(kForward))},
      {"head_ms", milliseconds(result.samples.median(kHead))},
      {"backward_ms", milliseconds(result.samples.median(kBackward))},
      {"optimiser_ms", milliseconds(result.samples.median(kOptimiser))},
      {"gemm_limit_ms", milliseconds(limit)},
      {"gemm_limit_ms_min", milliseconds(group.limit(result.method, true))},
      {"fraction_of_limit", limit / step},
      {"fraction_of_peak", flops / step / group.peak_rate()},
      {"peak_gflops", group.peak_rate() / 1e9},
      {"gemm_gflop", flops / 1e9},
      {"peak_mb", result.peak_mb},
      {"rounds", result.samples.rounds()}};
  if (profile) json["gemms"] = gemms_json(group, result.method);
  return json;
}

Table step_table(const std::vector<GroupResult>& groups) {
  Table table({"config", "batch", "precision", "method", "tokens/s", "step ms", "best ms",
               "forward", "head", "backward", "optimiser", "GEMMs ms", "of limit", "of peak",
               "peak MB"});
  for (const GroupResult& group : groups) {
    for (const StepResult& result : group.methods) {
      const nlohmann::ordered_json json = to_json(group, result, false);
      const auto number = [&](const char* key) { return json.at(key).get<double>(); };
      const auto tenths = [&](const char* key) { return fmt::format("{:.1f}", number(key)); };
      table.add_row({group.config.name, fmt::to_string(group.config.batch),
                     name_of(group.precision), result.method,
                     fmt::format("{:.0f}", number("tokens_per_second")), tenths("step_ms"),
                     tenths("step_ms_min"), tenths("forward_ms"), tenths("head_ms"),
                     tenths("backward_ms"), tenths("optimiser_ms"), tenths("gemm_limit_ms"),
                     fmt::format("{:.1f} %", 100.0 * number("fraction_of_limit")),
                     fmt::format("{:.1f} %", 100.0 * number("fraction_of_peak")),
                     fmt::format("{:.0f}", number("peak_mb"))});
    }
  }
  return table;
}

Table gemm_table(const std::vector<GroupResult>& groups) {
  Table table({"GEMM", "config", "precision", "m", "n", "k", "count", "ms", "GFLOP/s"});
  for (const GroupResult& group : groups) {
    for (std::size_t i = 0; i < group.jobs.size(); ++i) {
      const GemmJob& job = group.jobs[i];
      const double seconds = group.gemms.median(static_cast<dim_t>(i));
      table.add_row({job.name, group.config.name, name_of(group.precision), fmt::to_string(job.m),
                     fmt::to_string(job.n), fmt::to_string(job.k), fmt::to_string(job.count),
                     fmt::format("{:.2f}", seconds * 1e3),
                     fmt::format("{:.0f}", job.flops() / seconds / 1e9)});
    }
  }
  return table;
}

}  // namespace

BenchReport bench_step(const BenchOptions& options) {
  std::vector<StepConfig> configs = choose_step_configs(options);
  for (StepConfig& config : configs) {
    if (!options.batch.empty()) config.batch = options.batch.front();
    if (!options.steps.empty()) config.steps = options.steps.front();
  }
  return bench_step(configs, options);
}

BenchReport bench_step(const std::vector<StepConfig>& configs, const BenchOptions& options) {
  const Timer timer;
  Plan plan{choose(options.methods, kMethods, "method"), precisions_of(options), {}};
  for (const Precision precision : plan.precisions)
    plan.rates.push_back(probe_gemm_rate(precision));

  // The last configuration is the largest one and takes what the others leave; each of them gets a
  // quarter of what there is.
  std::vector<GroupResult> groups;
  for (std::size_t c = 0; c < configs.size(); ++c) {
    const double left = options.seconds - timer.seconds();
    const double share = c + 1 == configs.size() ? left : left / 4.0;
    const StepConfig config = fit(configs[c], plan, share);
    for (const Precision precision : plan.precisions) {
      const double seconds = share / static_cast<double>(plan.precisions.size());
      log_info(
          fmt::format("{} {}: {}", config.name, name_of(precision), fmt::join(plan.methods, ", ")));
      groups.push_back(measure_group(config, plan, precision, seconds));
    }
  }

  BenchReport report;
  for (const GroupResult& group : groups) {
    for (const StepResult& result : group.methods) {
      report.results.push_back(to_json(group, result, options.profile));
    }
  }
  report.tables.push_back(step_table(groups));
  if (options.profile) report.tables.push_back(gemm_table(groups));
  return report;
}

}  // namespace dsf
