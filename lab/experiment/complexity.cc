#include "lab/experiment/complexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "dsf/base/cpu_info.h"
#include "dsf/base/file.h"
#include "dsf/base/log.h"
#include "dsf/base/timer.h"
#include "dsf/kernels/diagonal_scan.h"
#include "dsf/kernels/elementwise.h"
#include "dsf/kernels/parallel.h"
#include "lab/bench/layer.h"
#include "lab/report/statistics.h"

namespace dsf {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr dim_t kMostRounds = 9;

struct Contender {
  const char* name;
  const char* method;
  DiagonalForm scan;
};
constexpr std::size_t kExact = 0;
constexpr std::size_t kTruncated = 1;
constexpr std::array<Contender, 5> kContenders = {{{"bptt", "bptt", DiagonalForm::automatic},
                                                   {"ft", "ft", DiagonalForm::automatic},
                                                   {"dsf:serial", "dsf", DiagonalForm::serial},
                                                   {"dsf:blocked", "dsf", DiagonalForm::blocked},
                                                   {"dsf:fft", "dsf", DiagonalForm::fft}}};

std::optional<ScanForm> scan_form(DiagonalForm scan) {
  if (scan == DiagonalForm::serial) return ScanForm::serial;
  if (scan == DiagonalForm::blocked) return ScanForm::blocked;
  if (scan == DiagonalForm::fft) return ScanForm::fft;
  return std::nullopt;
}

/// A scan by itself, on errors of the layer's size.
class ScanAlone {
 public:
  ScanAlone(const LayerCase& shape, const LayerInputs& inputs, ScanForm form)
      : inputs_(inputs),
        layout_(PackedLayout::uniform(shape.steps, shape.batch)),
        form_(form),
        a_(shape.hidden),
        g_(shape.rows(), shape.hidden) {
    // As DSF's linspace: every memory from none to all.
    for (dim_t j = 0; j < a_.size(); ++j) {
      a_[j] = static_cast<float>(j) / static_cast<float>(a_.size());
    }
  }

  double run() {
    copy(inputs_.dh, g_);
    const Timer timer;
    reverse_scan(form_, layout_, a_.span(), work_, g_);
    return timer.seconds();
  }

 private:
  const LayerInputs& inputs_;
  PackedLayout layout_;
  ScanForm form_;
  Buffer<float> a_;
  Matrix g_;
  ScanWorkspace work_;
};

/// A method's layer and, if it has one, its scan. A run gives the times of backward and scan.
class Runner {
 public:
  Runner(const LayerCase& shape, const LayerInputs& inputs, const Contender& contender) {
    FeedbackConfig feedback;
    feedback.method = contender.method;
    feedback.scan = contender.scan;
    layer_ = std::make_unique<OurLayer>(shape, inputs, feedback);
    const auto form = scan_form(contender.scan);
    if (form) scan_ = std::make_unique<ScanAlone>(shape, inputs, *form);
  }

  PartTimes run() {
    const double backward = layer_->run()[1];
    return {backward, scan_ ? scan_->run() : 0.0};
  }
  bool has_scan() const { return scan_ != nullptr; }

 private:
  std::unique_ptr<OurLayer> layer_;
  std::unique_ptr<ScanAlone> scan_;
};

/// What exact feedback takes longer, round by round: a drift of the machine falls on both.
void set_path(const std::vector<double>& exact, const std::vector<double>& truncated,
              ComplexityPoint& point) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < exact.size(); ++i) differences.push_back(exact[i] - truncated[i]);
  point.path = median(differences);
  for (double& difference : differences) difference = std::abs(difference - *point.path);
  point.path_spread = median(differences);
}

std::vector<ComplexityPoint> measure_shape(const ComplexityShape& shape, double seconds) {
  const LayerCase layer{"gru", shape.batch, shape.steps, shape.hidden, Precision::f32};
  const LayerInputs inputs(layer);
  std::vector<Runner> runners;
  runners.reserve(kContenders.size());
  for (const Contender& contender : kContenders) runners.emplace_back(layer, inputs, contender);
  std::vector<Contestant> contestants;
  contestants.reserve(runners.size());
  for (Runner& runner : runners) contestants.emplace_back([&runner] { return runner.run(); });
  for (const Contestant& contestant : contestants) contestant();
  const auto samples = measure_interleaved(contestants, {kMostRounds, seconds});

  std::vector<ComplexityPoint> points;
  for (std::size_t i = 0; i < kContenders.size(); ++i) {
    points.push_back({kContenders[i].name, shape.batch, shape.steps, shape.hidden,
                      samples[i].median(0), std::nullopt});
    if (runners[i].has_scan()) points.back().path = samples[i].median(1);
  }
  set_path(samples[kExact].of_part(0), samples[kTruncated].of_part(0), points[kExact]);
  return points;
}

bool is_of(const ComplexityPoint& point, const ComplexityShape& shape) {
  return point.batch == shape.batch && point.steps == shape.steps && point.hidden == shape.hidden;
}

/// What times mean nothing without.
ordered_json conditions() { return {{"threads", thread_count()}, {"cpu", cpu_name()}}; }

/// Nothing if they were measured under other conditions.
std::vector<ComplexityPoint> read_points(const std::filesystem::path& file) {
  std::vector<ComplexityPoint> points;
  if (!std::filesystem::exists(file)) return points;
  const json stored = json::parse(read_file(file), nullptr, false);
  if (!stored.is_object() || stored.value("machine", json()) != json(conditions())) {
    log_info(fmt::format("{} was measured with other threads or on another CPU: measuring again",
                         file.string()));
    return points;
  }
  for (const json& one : stored.at("times")) {
    ComplexityPoint& point = points.emplace_back();
    point.method = one.at("method").get<std::string>();
    point.batch = one.at("batch").get<dim_t>();
    point.steps = one.at("steps").get<dim_t>();
    point.hidden = one.at("hidden").get<dim_t>();
    point.backward = one.at("backward_seconds").get<double>();
    if (one.at("path_seconds").is_number()) point.path = one.at("path_seconds").get<double>();
    point.path_spread = one.at("path_spread_seconds").get<double>();
  }
  return points;
}

void write_points(const std::vector<ComplexityPoint>& points, const std::filesystem::path& file) {
  ordered_json list = ordered_json::array();
  for (const ComplexityPoint& point : points) list.push_back(to_json(point));
  const ordered_json stored = {{"machine", conditions()}, {"times", std::move(list)}};
  replace_file(file, stored.dump(1) + "\n");
}

std::vector<dim_t> doublings(dim_t from, dim_t to) {
  std::vector<dim_t> values;
  for (dim_t value = from; value <= to; value *= 2) values.push_back(value);
  return values;
}

}  // namespace

ordered_json to_json(const ComplexityPoint& point) {
  ordered_json json = {{"method", point.method},
                       {"batch", point.batch},
                       {"steps", point.steps},
                       {"hidden", point.hidden},
                       {"backward_seconds", point.backward}};
  json["path_seconds"] = or_null(point.path);
  json["path_spread_seconds"] = point.path_spread;
  return json;
}

std::vector<ComplexityShape> ComplexitySweep::shapes() const {
  std::vector<ComplexityShape> all;
  for (const dim_t length : lengths) all.push_back({batch, length, hidden});
  for (const dim_t width : widths) {
    const bool there =
        width == hidden && std::find(lengths.begin(), lengths.end(), steps) != lengths.end();
    if (!there) all.push_back({batch, steps, width});
  }
  return all;
}

std::vector<ComplexitySweep> complexity_sweeps(Scale scale) {
  const dim_t grown = scale == Scale::full ? 2 : 1;
  return {{1, 256, doublings(256, 16384 * grown), 1024, doublings(64, 1024 * grown)},
          {128, 256, doublings(16, 256 * grown), 64, doublings(64, 1024 * grown)}};
}

std::vector<ComplexityPoint> measure_complexity(const std::vector<ComplexitySweep>& sweeps,
                                                const std::filesystem::path& file, double seconds,
                                                const StopRequest& stop) {
  std::vector<ComplexityPoint> stored = read_points(file);
  std::vector<ComplexityPoint> points;
  for (const ComplexitySweep& sweep : sweeps) {
    for (const ComplexityShape& shape : sweep.shapes()) {
      const auto matches = [&shape](const auto& point) { return is_of(point, shape); };
      if (std::none_of(stored.begin(), stored.end(), matches) && stop() == 0) {
        log_info(fmt::format("B={} T={} D={}", shape.batch, shape.steps, shape.hidden));
        for (ComplexityPoint& point : measure_shape(shape, seconds)) stored.push_back(point);
        write_points(stored, file);
      }
      std::copy_if(stored.begin(), stored.end(), std::back_inserter(points), matches);
    }
  }
  return points;
}

}  // namespace dsf
