#include "lab/bench/epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/log.h"
#include "dsf/base/rng.h"
#include "dsf/base/timer.h"

namespace dsf {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr dim_t kContext = 64;  // longer sentences are cut, as in training
constexpr dim_t kMostRounds = 7;

std::vector<TokenBatch> make_batches(const std::vector<dim_t>& lengths, dim_t vocab, dim_t size) {
  std::vector<TokenBatch> batches;
  for (std::size_t begin = 0; begin < lengths.size(); begin += static_cast<std::size_t>(size)) {
    const std::size_t end = std::min(lengths.size(), begin + static_cast<std::size_t>(size));
    batches.push_back(
        random_batch(vocab, layout_of({lengths.begin() + static_cast<std::ptrdiff_t>(begin),
                                       lengths.begin() + static_cast<std::ptrdiff_t>(end)})));
  }
  return batches;
}

/// Seconds by part of all batches together.
PartTimes run_all(const std::vector<TokenBatch>& batches, TrainingStep& training) {
  PartTimes sum(kOptimiser + 1, 0.0);
  for (const TokenBatch& batch : batches) {
    const PartTimes parts = training.run(batch);
    std::transform(parts.begin(), parts.end(), sum.begin(), sum.begin(), std::plus<>());
  }
  return sum;
}

}  // namespace

PackedLayout layout_of(std::vector<dim_t> lengths) {
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  std::vector<dim_t> rows_per_step;
  for (dim_t t = 0; !lengths.empty() && t < lengths.front(); ++t) {
    rows_per_step.push_back(
        std::count_if(lengths.begin(), lengths.end(), [&](dim_t length) { return length > t; }));
  }
  return PackedLayout(std::move(rows_per_step));
}

std::vector<dim_t> draw_sentence_lengths(dim_t sentences) {
  constexpr double kMeanOfLog = 2.95;
  constexpr double kDeviationOfLog = 0.54;
  Rng rng(kSeed, "bench/lengths");
  std::vector<dim_t> lengths;
  for (dim_t i = 0; i < sentences; ++i) {
    const auto length =
        static_cast<dim_t>(std::lround(std::exp(kMeanOfLog + kDeviationOfLog * rng.normal())));
    lengths.push_back(std::clamp<dim_t>(length, 1, kContext));
  }
  return lengths;
}

std::vector<dim_t> read_sentence_lengths(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw DataError(fmt::format("{}: cannot be read", file.string()));
  std::vector<dim_t> lengths;
  dim_t length = 0;
  while (in >> length) {
    if (length < 1) {
      throw DataError(fmt::format("{}: number {} is {}; a sentence has at least one token",
                                  file.string(), lengths.size() + 1, length));
    }
    lengths.push_back(std::min(length, kContext));
  }
  if (!in.eof() || lengths.empty()) {
    throw DataError(
        fmt::format("{}: expected one whole number a line, the length of a sentence; "
                    "found {} and then something else",
                    file.string(), lengths.size()));
  }
  return lengths;
}

BenchReport bench_epoch(const std::vector<dim_t>& lengths, const BenchOptions& options) {
  const Timer timer;
  const StepConfig config = choose_step_configs(options).front();
  const dim_t size = options.batch.empty() ? config.batch : options.batch.front();
  const auto methods = choose(options.methods, {"bptt", "ft", "dsf"}, "method");
  const auto precisions = precisions_of(options);
  const auto batches = make_batches(lengths, config.vocab, size);
  const dim_t tokens = std::accumulate(lengths.begin(), lengths.end(), dim_t{0});

  BenchReport report;
  report.tables.emplace_back(std::vector<std::string>{"config", "precision", "method", "sentences",
                                                      "tokens", "tokens/s", "ms", "best ms"});
  for (std::size_t p = 0; p < precisions.size(); ++p) {
    const Timer group_timer;
    const double share =
        (options.seconds - timer.seconds()) / static_cast<double>(precisions.size() - p);
    log_info(fmt::format("{} {}: {} batches", config.name, name_of(precisions[p]), batches.size()));
    std::vector<std::unique_ptr<TrainingStep>> models;
    std::vector<Contestant> contestants;
    for (const std::string& method : methods) {
      models.push_back(std::make_unique<TrainingStep>(config, method, precisions[p]));
      contestants.emplace_back(
          [&batches, model = models.back().get()] { return run_all(batches, *model); });
      contestants.back()();
    }
    const auto samples =
        measure_interleaved(contestants, {kMostRounds, share - group_timer.seconds()});
    for (std::size_t m = 0; m < methods.size(); ++m) {
      const double seconds = samples[m].median_total();
      const double rate = static_cast<double>(tokens) / seconds;
      report.results.push_back({{"config", config.name},
                                {"method", methods[m]},
                                {"precision", name_of(precisions[p])},
                                {"batch", size},
                                {"sentences", lengths.size()},
                                {"tokens", tokens},
                                {"tokens_per_second", rate},
                                {"ms", milliseconds(seconds)},
                                {"ms_min", milliseconds(samples[m].minimum_total())},
                                {"rounds", samples[m].rounds()}});
      report.tables.back().add_row({config.name, name_of(precisions[p]), methods[m],
                                    fmt::to_string(lengths.size()), fmt::to_string(tokens),
                                    fmt::format("{:.0f}", rate),
                                    fmt::format("{:.1f}", seconds * 1e3),
                                    fmt::format("{:.1f}", samples[m].minimum_total() * 1e3)});
    }
  }
  return report;
}

}  // namespace dsf
