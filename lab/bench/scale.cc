#include "lab/bench/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "dsf/base/log.h"
#include "dsf/base/timer.h"
#include "dsf/train/gradient_sync.h"
#include "dsf/train/training_step.h"
#include "lab/bench/scaling_model.h"

namespace dsf {
namespace {

constexpr double kLearningRate = 1e-4;
constexpr std::uint64_t kSeed = 1;
constexpr dim_t kMostRounds = 9;
constexpr int kMostModelledRanks = 1024;

// The parts a step's time is given in: places in PartTimes. The sum of the first two is the step.
constexpr dim_t kCompute = 0;
constexpr dim_t kExposed = 1;
constexpr dim_t kHidden = 2;

FeedbackConfig dsf_feedback() { return {}; }

/// A model in training on some ranks.
class SharedStep {
 public:
  SharedStep(const StepConfig& config, Precision precision, Communicator& ranks, bool overlap)
      : ranks_(ranks),
        model_(config.model, dsf_feedback(), config.vocab, kSeed),
        sync_(ranks, model_.table().flat_size(), {.overlap = overlap}),
        batch_(random_batch(config.vocab, PackedLayout::uniform(config.steps, config.batch))) {
    model_.set_precision(precision);
  }

  /// One step, begun by all ranks together.
  PartTimes run() {
    ranks_.barrier();
    const double busy_before = ranks_.busy_seconds();
    const double exposed_before = sync_.exposed_seconds();
    const Timer timer;
    events_.clear();
    const StepCalls calls{.on_gradients =
                              [&](dim_t first) {
                                events_.push_back({first, timer.seconds()});
                              },
                          .before_update = {}};
    training_step(model_, {batch_, batch_.tokens() * ranks_.size()},
                  {.adam = {}, .learning_rate = kLearningRate, .clip = 1.0}, ranks_, sync_, adam_,
                  calls);
    const double busy = ranks_.busy_seconds() - busy_before;
    step_ = timer.seconds();
    const double exposed = sync_.exposed_seconds() - exposed_before;
    return {step_ - exposed, exposed, std::max(0.0, busy - exposed)};
  }

  dim_t flat_size() const { return model_.table().flat_size(); }

  /// Of the last step.
  StepProfile profile() const {
    StepProfile profile;
    profile.step = step_;
    profile.backward_end = events_.back().seconds;
    for (const FlatRange bucket : cut_buckets(flat_size(), default_bucket(flat_size()))) {
      const auto filled = std::find_if(events_.begin(), events_.end(), [&](const Event& event) {
        return event.first <= bucket.begin;
      });
      profile.buckets.push_back(
          {static_cast<double>(bucket.size()) * sizeof(float), filled->seconds});
    }
    return profile;
  }

 private:
  struct Event {
    dim_t first;  ///< gradients from here on are final
    double seconds;
  };

  Communicator& ranks_;
  LanguageModel model_;
  GradientSync sync_;
  AdamState adam_;
  TokenBatch batch_;
  std::vector<Event> events_;
  double step_ = 0.0;
};

/// How often, agreed on by all: rank 0's first step tells.
dim_t agreed_rounds(Communicator& ranks, double step, double seconds) {
  auto rounds = std::clamp(static_cast<dim_t>(seconds / step), dim_t{1}, kMostRounds);
  ranks.broadcast(std::as_writable_bytes(std::span<dim_t>(&rounds, 1)));
  return rounds;
}

std::vector<int> rank_counts(int size) {
  std::vector<int> counts;
  for (int count = 1; count < size; count *= 2) counts.push_back(count);
  counts.push_back(size);
  return counts;
}

struct Measured {
  Samples samples;
  dim_t flat_size = 0;
  StepProfile profile;
};

Measured measure(const StepConfig& config, Precision precision, Communicator& ranks, bool overlap,
                 double seconds) {
  SharedStep step(config, precision, ranks, overlap);
  step.run();  // allocates
  const Timer timer;
  step.run();
  Measured measured;
  const dim_t rounds = agreed_rounds(ranks, timer.seconds(), seconds);
  for (dim_t round = 0; round < rounds; ++round) {
    measured.samples.add(step.run());
    // The fastest step is the least disturbed one.
    const StepProfile profile = step.profile();
    if (round == 0 || profile.step < measured.profile.step) measured.profile = profile;
  }
  measured.flat_size = step.flat_size();
  return measured;
}

struct ScaleGroup {
  const StepConfig* config;
  Precision precision;
  double alone = 0.0;  // seconds of a step by one rank
};

void add_measured(const ScaleGroup& group, const Communicator& ranks, bool overlap,
                  const Measured& measured, BenchReport& report) {
  const Samples& samples = measured.samples;
  const double compute = samples.median(kCompute);
  const double exposed = samples.median(kExposed);
  const double step = compute + exposed;
  const double tokens = static_cast<double>(group.config->batch * group.config->steps) *
                        static_cast<double>(ranks.size());
  report.results.push_back({{"modelled", false},
                            {"config", group.config->name},
                            {"precision", name_of(group.precision)},
                            {"ranks", ranks.size()},
                            {"ranks_per_machine", ranks.local_ranks()},
                            {"overlap", overlap},
                            {"batch_per_rank", group.config->batch},
                            {"steps", group.config->steps},
                            {"gradient_bytes", measured.flat_size * 4},
                            {"buckets", measured.profile.buckets.size()},
                            {"step_ms", milliseconds(step)},
                            {"compute_ms", milliseconds(compute)},
                            {"exposed_ms", milliseconds(exposed)},
                            {"exposed_ms_min", milliseconds(samples.minimum(kExposed))},
                            {"hidden_ms", milliseconds(samples.median(kHidden))},
                            {"tokens_per_second", tokens / step},
                            {"efficiency", group.alone / step},
                            {"rounds", samples.rounds()}});
  report.tables[0].add_row(
      {group.config->name, name_of(group.precision), fmt::to_string(ranks.size()),
       overlap ? "yes" : "no", fmt::format("{:.1f}", step * 1e3),
       fmt::format("{:.1f}", compute * 1e3), fmt::format("{:.1f}", exposed * 1e3),
       fmt::format("{:.1f}", samples.median(kHidden) * 1e3), fmt::format("{:.0f}", tokens / step),
       fmt::format("{:.2f}", group.alone / step)});
}

void add_modelled(const ScaleGroup& group, const StepProfile& profile, double speedup,
                  BenchReport& report) {
  for (const Network& network : published_networks()) {
    for (int ranks = 2; ranks <= kMostModelledRanks; ranks *= 2) {
      const ModelledStep direct = model_step(profile, network, AllReduce::direct, ranks);
      const ModelledStep halving = model_step(profile, network, AllReduce::halving, ranks);
      report.results.push_back({{"modelled", true},
                                {"config", group.config->name},
                                {"precision", name_of(group.precision)},
                                {"network", network.name},
                                {"gigabits", network.gigabits},
                                {"latency_us", network.latency * 1e6},
                                {"ranks", ranks},
                                {"speedup", speedup},
                                {"step_ms", milliseconds(profile.step + direct.exposed)},
                                {"communication_ms", milliseconds(direct.communication)},
                                {"exposed_ms", milliseconds(direct.exposed)},
                                {"efficiency", direct.efficiency},
                                {"efficiency_halving", halving.efficiency}});
      if (ranks != 2 && ranks != 16 && ranks != 128 && ranks != kMostModelledRanks) continue;
      report.tables[1].add_row(
          {group.config->name, name_of(group.precision), network.name, fmt::to_string(ranks),
           fmt::format("{:.1f}", direct.communication * 1e3),
           fmt::format("{:.1f}", direct.exposed * 1e3), fmt::format("{:.2f}", direct.efficiency),
           fmt::format("{:.2f}", halving.efficiency)});
    }
  }
}

BenchReport empty_report() {
  BenchReport report;
  report.tables.emplace_back(std::vector<std::string>{"measured", "precision", "ranks", "overlap",
                                                      "step ms", "compute", "exposed", "hidden",
                                                      "tokens/s", "efficiency"});
  report.tables.emplace_back(std::vector<std::string>{"modelled", "precision", "network", "ranks",
                                                      "all-reduce ms", "exposed", "direct",
                                                      "halving"});
  return report;
}

}  // namespace

BenchReport bench_scale(const BenchOptions& options, Communicator& ranks, double speedup) {
  std::vector<StepConfig> configs = choose_step_configs(options);
  if (options.only.empty()) configs.resize(1);
  for (StepConfig& config : configs) {
    if (!options.batch.empty()) config.batch = options.batch.front();
    if (!options.steps.empty()) config.steps = options.steps.front();
  }
  return bench_scale(configs, options, ranks, speedup);
}

BenchReport bench_scale(const std::vector<StepConfig>& configs, const BenchOptions& options,
                        Communicator& ranks, double speedup) {
  BenchReport report = empty_report();
  const std::vector<Precision> precisions =
      options.precisions.empty() ? std::vector<Precision>{Precision::f32} : options.precisions;
  const std::vector<int> counts = rank_counts(ranks.size());
  const double share =
      options.seconds / static_cast<double>(2 * counts.size() * configs.size() * precisions.size());
  for (const StepConfig& config : configs) {
    for (const Precision precision : precisions) {
      ScaleGroup group{&config, precision};
      for (const int count : counts) {
        const std::unique_ptr<Communicator> some = ranks.first_ranks(count);
        if (some) {
          log_info(fmt::format("{} {} on {} rank(s)", config.name, name_of(precision), count));
          for (const bool overlap : {true, false}) {
            if (count == 1 && !overlap) continue;
            const Measured measured = measure(config, precision, *some, overlap, share);
            if (count == 1) group.alone = measured.samples.median_total();
            add_measured(group, *some, overlap, measured, report);
            if (count == 1) add_modelled(group, measured.profile.faster(speedup), speedup, report);
          }
        }
        ranks.barrier();
      }
    }
  }
  return report;
}

}  // namespace dsf
