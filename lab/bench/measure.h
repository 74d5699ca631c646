#pragma once

// What all benchmarks share. Machines are noisy, so a comparison is made within one run: every
// contestant runs once a round, in turn, and medians and minima over the rounds are reported.

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "dsf/base/dim.h"
#include "dsf/kernels/gemm.h"
#include "lab/report/table.h"

namespace dsf {

/// Which part of a benchmark to run, and for how long. Empty lists: the benchmark's own choice.
struct BenchOptions {
  std::vector<std::string> only;     ///< configurations (step, length), cells (layer), forms (scan)
  std::vector<std::string> methods;  ///< bptt | ft | dsf; layer: any feedback
  std::vector<Precision> precisions;  ///< both by default
  std::vector<dim_t> batch;
  std::vector<dim_t> steps;
  std::vector<dim_t> hidden;
  dim_t tokens = 0;        ///< of a batch, for scan and length; 0: their own choice
  double seconds = 480.0;  ///< for the whole benchmark, about
  bool profile = false;    ///< step: every GEMM by itself as well
};

/// `results` as --json prints them, `tables` as a person reads them, both complete.
struct BenchReport {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  std::vector<Table> tables;
};

/// Seconds of the parts of one run, in an order of the contestant's own.
using PartTimes = std::vector<double>;
using Contestant = std::function<PartTimes()>;

/// The runs of one contestant.
class Samples {
 public:
  void add(PartTimes parts) { runs_.push_back(std::move(parts)); }

  dim_t rounds() const { return static_cast<dim_t>(runs_.size()); }
  std::vector<double> of_part(dim_t part) const;  ///< a value a round
  double median(dim_t part) const;
  double minimum(dim_t part) const;
  /// Of the sum of all parts of a run.
  double median_total() const;
  double minimum_total() const;

 private:
  std::vector<double> totals() const;

  std::vector<PartTimes> runs_;
};

/// The middle value, or the mean of the two; `values` is not empty.
double median(std::vector<double> values);

/// At most `most` rounds, and no round that would end after `seconds`; but `least` in any case, so
/// that a single hiccup does not become a result.
struct RoundLimits {
  dim_t most = 15;
  double seconds = 30.0;
  dim_t least = 1;
};

/// Runs the contestants round by round; each round begins with another one. Contestants have run
/// before, so that their memory is there. A pause before each run lets the threads of the one
/// before go to sleep (OpenMP's keep spinning for a while).
std::vector<Samples> measure_interleaved(std::span<const Contestant> contestants,
                                         const RoundLimits& limits);

/// Floating-point operations a second of a large square GEMM: what plans are made with.
double probe_gemm_rate(Precision precision);

/// The largest memory of the process since construction, beyond what it had then.
class PeakMemory {
 public:
  PeakMemory();
  double megabytes() const;

 private:
  double before_;
};

/// Memory that can be had now without swapping, bytes.
double available_memory();

/// CPU, threads, memory and libraries: what a figure means nothing without.
nlohmann::ordered_json describe_machine();

/// "f32", "bf16".
std::string name_of(Precision precision);

/// Precisions of the options, or both.
std::vector<Precision> precisions_of(const BenchOptions& options);

/// The known names that are asked for, in their own order. Throws UsageError on an unknown one.
std::vector<std::string> choose(const std::vector<std::string>& asked,
                                const std::vector<std::string>& known, const std::string& what);

/// Seconds as milliseconds with three digits, for JSON.
double milliseconds(double seconds);

}  // namespace dsf
