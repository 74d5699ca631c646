#include "lab/bench/scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsf/base/log.h"
#include "dsf/base/rng.h"
#include "dsf/base/timer.h"
#include "dsf/kernels/diagonal_scan.h"
#include "dsf/kernels/elementwise.h"
#include "lab/bench/stream_triad.h"

namespace dsf {
namespace {

const std::vector<std::string> kForms = {"serial", "blocked", "fft"};

// 256 MB of gradients: more than the caches of one socket.
constexpr dim_t kTokens = 131072;
constexpr dim_t kWidth = 512;
constexpr dim_t kMostRounds = 9;

ScanForm form_of(const std::string& name) {
  if (name == "serial") return ScanForm::serial;
  return name == "blocked" ? ScanForm::blocked : ScanForm::fft;
}

/// The arrays of a triad, together as large as a scan's data and its source.
class Triad {
 public:
  explicit Triad(dim_t size) : a_(size), b_(size), c_(size) {
    std::fill_n(b_.data(), size, 1.0F);
    std::fill_n(c_.data(), size, 2.0F);
  }
  PartTimes run() {
    const Timer timer;
    stream_triad(b_.span(), c_.span(), 0.5F, a_.span());
    return {timer.seconds()};
  }
  double bytes() const { return 3.0 * sizeof(float) * static_cast<double>(a_.size()); }

 private:
  Buffer<float> a_;
  Buffer<float> b_;
  Buffer<float> c_;
};

/// One batch's errors and diagonal, whatever its shape.
struct ScanData {
  ScanData(dim_t rows, dim_t width) : errors(rows, width), g(rows, width), a(width) {
    Rng rng(1, "bench/scan");
    for (dim_t j = 0; j < width; ++j) a[j] = static_cast<float>(rng.uniform());
    for (dim_t i = 0; i < rows; ++i) {
      float* row = errors.view().row(i);
      for (dim_t j = 0; j < width; ++j) row[j] = a[(i + j) % width] - 0.5F;
    }
  }
  Matrix errors;
  Matrix g;
  Buffer<float> a;
};

PartTimes run_scan(ScanForm form, const PackedLayout& layout, ScanWorkspace& work, ScanData& data) {
  const MatrixF g = data.g.view().middle_rows(0, layout.total_rows());
  copy(data.errors.view().middle_rows(0, g.rows), g);
  const Timer timer;
  reverse_scan(form, layout, data.a.span(), work, g);
  return {timer.seconds()};
}

}  // namespace

BenchReport bench_scan(const BenchOptions& options) {
  const Timer timer;
  const dim_t width = options.hidden.empty() ? kWidth : options.hidden.front();
  const dim_t tokens = options.tokens > 0 ? options.tokens : kTokens;
  const auto forms = choose(options.only, kForms, "form");
  std::vector<dim_t> lengths = options.steps;
  if (lengths.empty()) lengths = {64, 256, 1024, 4096, 16384, 65536};
  for (dim_t& length : lengths) length = std::min(length, tokens);
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  ScanData data(tokens, width);
  Triad triad(tokens * width / 2);

  BenchReport report;
  report.tables.emplace_back(std::vector<std::string>{"form", "T", "B", "ms", "best ms", "GB/s",
                                                      "triad GB/s", "of triad"});
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const dim_t steps = lengths[i];
    const dim_t batch = tokens / steps;
    const PackedLayout layout = PackedLayout::uniform(steps, batch);
    log_info(fmt::format("T={} B={} width {}", steps, batch, width));

    std::vector<ScanWorkspace> work(forms.size());
    std::vector<Contestant> contestants;
    for (std::size_t f = 0; f < forms.size(); ++f) {
      contestants.emplace_back(
          [&, f] { return run_scan(form_of(forms[f]), layout, work[f], data); });
    }
    contestants.emplace_back([&] { return triad.run(); });
    for (const Contestant& contestant : contestants) contestant();
    const double share =
        (options.seconds - timer.seconds()) / static_cast<double>(lengths.size() - i);
    const auto samples = measure_interleaved(contestants, {kMostRounds, share});

    const double bytes = 2.0 * sizeof(float) * static_cast<double>(layout.total_rows() * width);
    const double triad_rate = triad.bytes() / samples.back().median_total() / 1e9;
    for (std::size_t f = 0; f < forms.size(); ++f) {
      const double seconds = samples[f].median_total();
      const double rate = bytes / seconds / 1e9;
      report.results.push_back({{"form", forms[f]},
                                {"steps", steps},
                                {"batch", batch},
                                {"width", width},
                                {"ms", milliseconds(seconds)},
                                {"ms_min", milliseconds(samples[f].minimum_total())},
                                {"gb_per_second", rate},
                                {"triad_gb_per_second", triad_rate},
                                {"fraction_of_triad", rate / triad_rate},
                                {"rounds", samples[f].rounds()}});
      report.tables.back().add_row({forms[f], fmt::to_string(steps), fmt::to_string(batch),
                                    fmt::format("{:.2f}", seconds * 1e3),
                                    fmt::format("{:.2f}", samples[f].minimum_total() * 1e3),
                                    fmt::format("{:.2f}", rate), fmt::format("{:.2f}", triad_rate),
                                    fmt::format("{:.1f} %", 100.0 * rate / triad_rate)});
    }
  }
  return report;
}

}  // namespace dsf
