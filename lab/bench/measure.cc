#include "lab/bench/measure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "dsf/base/buffer.h"
#include "dsf/base/cpu_info.h"
#include "dsf/base/error.h"
#include "dsf/base/nearest_name.h"
#include "dsf/base/process_memory.h"
#include "dsf/base/timer.h"
#include "dsf/base/version.h"
#include "dsf/kernels/packed_weights.h"
#include "dsf/kernels/parallel.h"
#include "lab/bench/onednn_rnn.h"

namespace dsf {
namespace {

constexpr std::chrono::milliseconds kPause{10};

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

std::vector<double> Samples::of_part(dim_t part) const {
  std::vector<double> values;
  for (const PartTimes& run : runs_) values.push_back(run[static_cast<std::size_t>(part)]);
  return values;
}

std::vector<double> Samples::totals() const {
  std::vector<double> values;
  for (const PartTimes& run : runs_) values.push_back(std::accumulate(run.begin(), run.end(), 0.0));
  return values;
}

double Samples::median(dim_t part) const { return dsf::median(of_part(part)); }
double Samples::median_total() const { return dsf::median(totals()); }
double Samples::minimum(dim_t part) const {
  const auto values = of_part(part);
  return *std::min_element(values.begin(), values.end());
}
double Samples::minimum_total() const {
  const auto values = totals();
  return *std::min_element(values.begin(), values.end());
}

std::vector<Samples> measure_interleaved(std::span<const Contestant> contestants,
                                         const RoundLimits& limits) {
  std::vector<Samples> samples(contestants.size());
  const Timer timer;
  double longest_round = 0.0;
  for (dim_t round = 0; round < limits.most; ++round) {
    const double begin = timer.seconds();
    if (round >= std::max<dim_t>(limits.least, 1) && begin + longest_round > limits.seconds) break;
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const std::size_t turn = (i + static_cast<std::size_t>(round)) % contestants.size();
      std::this_thread::sleep_for(kPause);
      samples[turn].add(contestants[turn]());
    }
    longest_round = std::max(longest_round, timer.seconds() - begin);
  }
  return samples;
}

double probe_gemm_rate(Precision precision) {
  constexpr dim_t kSize = 1024;
  constexpr int kRuns = 3;
  Buffer<float> values(kSize * kSize);
  std::fill_n(values.data(), values.size(), 0.5F);
  const ConstMatrixF source(values.data(), kSize, kSize);
  OperandScratch scratch;
  const OperandView a = scratch(source, precision);
  PackedWeights b;
  b.pack(source, Op::none, precision);
  Matrix c(kSize, kSize);
  double best = 0.0;
  for (int run = 0; run < kRuns; ++run) {
    const Timer timer;
    gemm(a, b, Into::overwrite, c);
    best = std::max(best, 2.0 * std::pow(static_cast<double>(kSize), 3) / timer.seconds());
  }
  return best;
}

PeakMemory::PeakMemory() : before_(resident_bytes()) { reset_peak_resident(); }

double PeakMemory::megabytes() const { return (peak_resident_bytes() - before_) / 1e6; }

double available_memory() { return available_bytes(); }

nlohmann::ordered_json describe_machine() {
  double load = 0.0;
  getloadavg(&load, 1);
  return {{"version", version()},       {"commit", git_commit()},
          {"cpu", cpu_name()},          {"features", cpu_features()},
          {"threads", thread_count()},  {"bf16_native", has_fast_bf16()},
          {"bf16", name_of(bf16_by())}, {"memory_mb", std::round(total_bytes() / 1e6)},
          {"load_at_start", load},      {"onednn", onednn_version()}};
}

std::string name_of(Precision precision) { return precision == Precision::f32 ? "f32" : "bf16"; }

std::vector<Precision> precisions_of(const BenchOptions& options) {
  if (!options.precisions.empty()) return options.precisions;
  return {Precision::f32, Precision::bf16};
}

std::vector<std::string> choose(const std::vector<std::string>& asked,
                                const std::vector<std::string>& known, const std::string& what) {
  for (const std::string& name : asked) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UsageError(fmt::format("unknown {} \"{}\"{}; there are: {}", what, name,
                                 did_you_mean(name, known), fmt::join(known, ", ")));
  }
  if (asked.empty()) return known;
  std::vector<std::string> chosen;
  for (const std::string& name : known) {
    if (std::find(asked.begin(), asked.end(), name) != asked.end()) chosen.push_back(name);
  }
  return chosen;
}

double milliseconds(double seconds) { return std::round(seconds * 1e6) / 1e3; }

}  // namespace dsf
