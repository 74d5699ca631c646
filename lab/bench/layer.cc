#include "lab/bench/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "dsf/base/error.h"
#include "dsf/base/log.h"
#include "dsf/base/rng.h"
#include "dsf/base/timer.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/kernels/elementwise.h"
#include "lab/bench/gemms.h"
#include "lab/bench/training_step.h"

namespace dsf {
namespace {

constexpr std::uint64_t kSeed = 1;

struct KnownCell {
  std::string name;
  MixerKind cell;
  GruReset reset;
  OnednnCell onednn;
};

const std::vector<KnownCell>& known_cells() {
  static const std::vector<KnownCell> cells = {
      {"rnn", MixerKind::rnn, GruReset::after, OnednnCell::rnn},
      {"gru", MixerKind::gru, GruReset::after, OnednnCell::lbr_gru},
      {"gru_reset_before", MixerKind::gru, GruReset::before, OnednnCell::gru},
      {"lstm", MixerKind::lstm, GruReset::after, OnednnCell::lstm}};
  return cells;
}

const KnownCell& find_cell(const std::string& name) {
  const auto& cells = known_cells();
  return *std::find_if(cells.begin(), cells.end(), [&](auto& cell) { return cell.name == name; });
}

std::unique_ptr<RecurrentLayer> make_layer(const LayerCase& shape, const FeedbackConfig& feedback,
                                           ParameterTable& table) {
  const KnownCell& cell = find_cell(shape.cell);
  return make_recurrent_layer(table, "", std::string(name_of(cell.cell)),
                              std::string(name_of(cell.reset)), shape.hidden, shape.hidden,
                              feedback, kSeed);
}

const ParameterInfo& parameter(const ParameterTable& table, const std::string& name) {
  const auto& entries = table.entries();
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](auto& entry) { return entry.name == name; });
  if (found == entries.end()) throw Error("the layer has no parameter " + name);
  return *found;
}

CellWeights cell_weights(const LayerInputs& inputs) {
  const Weights weights = inputs.weights;
  const auto id = [&](const char* name) { return parameter(inputs.table, name).id; };
  return {weights(id("weight_ih")), weights(id("weight_hh")), weights.vector(id("bias_ih")),
          weights.vector(id("bias_hh"))};
}

void draw(double half_width, Rng& rng, std::span<float> values) {
  for (float& value : values) value = static_cast<float>(rng.uniform(-half_width, half_width));
}

}  // namespace

LayerInputs::LayerInputs(const LayerCase& shape)
    : state(make_layer(shape, {}, table)->state_width()),
      weights(table, shape.precision),
      x(shape.rows(), shape.hidden),
      dh(shape.rows(), shape.hidden) {
  Rng rng(kSeed, "bench/layer");
  draw(1.0 / std::sqrt(static_cast<double>(shape.hidden)), rng, weights.mutable_span());
  draw(1.0, rng, x.span());
  draw(0.01, rng, dh.span());
}

OurLayer::OurLayer(const LayerCase& shape, const LayerInputs& inputs,
                   const FeedbackConfig& feedback)
    : inputs_(inputs),
      layout_(PackedLayout::uniform(shape.steps, shape.batch)),
      layer_(make_layer(shape, feedback, table_)),
      tape_(layer_->make_tape()),
      y_(shape.rows(), inputs.state),
      dy_(shape.rows(), inputs.state),
      dx_(shape.rows(), shape.hidden) {
  gradients_.resize(table_.flat_size());
}

OurLayer::OurLayer(const LayerCase& shape, const LayerInputs& inputs, const std::string& method)
    : OurLayer(shape, inputs, feedback_of(method)) {}

PartTimes OurLayer::run() {
  // Backward uses dy up, so each run gets it anew. The LSTM's c gets no gradient from above:
  // oneDNN's interface has no place for one.
  dy_.zero();
  copy(inputs_.dh, dy_.view().middle_cols(0, inputs_.dh.cols()));
  Timer timer;
  layer_->forward(inputs_.weights, layout_, inputs_.x, {}, *tape_, y_);
  const double forward = timer.seconds();
  timer.restart();
  layer_->backward(layout_, inputs_.x, *tape_, dy_, dx_, {gradients_.data()});
  return {forward, timer.seconds()};
}

// The cell packs alone here, because a layer packs inside its forward pass. The first time allocates
// the memory and does not count.
double packing_seconds(const LayerCase& shape, const LayerInputs& inputs,
                       const std::string& method) {
  const KnownCell& known = find_cell(shape.cell);
  const auto cell = make_cell(*cell_of(known.cell), known.reset, shape.hidden, shape.hidden);
  const auto feedback = make_feedback(feedback_of(method), inputs.state, kSeed, "");
  const CellWeights weights = cell_weights(inputs);
  const auto pack = [&] { cell->prepare(weights, shape.precision, feedback->jacobian_use()); };
  pack();
  const Timer timer;
  pack();
  return timer.seconds();
}

OnednnLayer::OnednnLayer(const LayerCase& shape, const LayerInputs& inputs)
    : rnn_(
          {find_cell(shape.cell).onednn, shape.steps, shape.batch, shape.hidden, shape.precision}) {
  const CellWeights weights = cell_weights(inputs);
  rnn_.set_weights(weights.W, weights.U, weights.b_ih, weights.b_hh);
  rnn_.set_input(inputs.x);
  rnn_.set_output_gradient(inputs.dh);
}

PartTimes OnednnLayer::run() {
  Timer timer;
  rnn_.forward();
  const double forward = timer.seconds();
  timer.restart();
  rnn_.backward();
  return {forward, timer.seconds()};
}

namespace {

// Rounds: one that fills the memory, three that count at least, seven at most.
constexpr double kPlannedRuns = 4.0;
constexpr dim_t kLeastRounds = 3;      // of a shape: a median needs as many
constexpr double kMostOverdue = 1.25;  // of the time allowed, before shapes are left out
constexpr dim_t kMostRounds = 7;
// A core reads weights from its caches at about this rate: what few rows wait for, step by step.
constexpr double kCacheBytesPerSecond = 2e10;

struct PlannedCase {
  LayerCase shape;
  double seconds = 0.0;
  std::size_t place = 0;  // in the report
};

double estimate_seconds(const LayerCase& shape, double rate) {
  const KnownCell& cell = find_cell(shape.cell);
  ModelConfig config;
  config.mixer = cell.cell;
  config.reset = cell.reset;
  config.hidden = shape.hidden;
  double seconds = 0.0;
  for (const GemmJob& job : step_gemms(config, 1, shape.steps, shape.batch)) {
    seconds += job.flops() / rate;
    if (job.form != GemmForm::walk && job.form != GemmForm::walk_back) continue;
    seconds +=
        sizeof(float) * static_cast<double>(job.n * job.k * job.count) / kCacheBytesPerSecond;
  }
  return seconds;
}

template <typename T>
std::vector<T> or_else(const std::vector<T>& asked, std::vector<T> usual) {
  return asked.empty() ? usual : asked;
}

/// Every case that is asked for, in the order of the report.
std::vector<PlannedCase> plan_cases(const BenchOptions& options, std::size_t contestants) {
  std::vector<std::string> known;
  for (const KnownCell& cell : known_cells()) known.push_back(cell.name);
  const auto cells = choose(options.only, known, "cell");
  std::vector<PlannedCase> cases;
  for (const std::string& cell : cells) {
    for (const Precision precision : precisions_of(options)) {
      const double rate = probe_gemm_rate(precision);
      for (const dim_t hidden : or_else<dim_t>(options.hidden, {256, 512, 1024})) {
        for (const dim_t steps : or_else<dim_t>(options.steps, {64, 256, 1024})) {
          for (const dim_t batch : or_else<dim_t>(options.batch, {1, 16, 128})) {
            const LayerCase shape{cell, batch, steps, hidden, precision};
            const double runs = kPlannedRuns * static_cast<double>(contestants);
            cases.push_back({shape, runs * estimate_seconds(shape, rate), cases.size()});
          }
        }
      }
    }
  }
  return cases;
}

std::string describe(const LayerCase& shape) {
  return fmt::format("{} {} B={} T={} D={}", shape.cell, name_of(shape.precision), shape.batch,
                     shape.steps, shape.hidden);
}

/// The cases that fit into the time, the cheapest first counted; says which do not.
std::vector<PlannedCase> within_time(std::vector<PlannedCase> cases, double seconds) {
  std::stable_sort(cases.begin(), cases.end(),
                   [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  double sum = 0.0;
  std::size_t kept = 0;
  while (kept < cases.size() && (kept == 0 || sum + cases[kept].seconds <= seconds)) {
    sum += cases[kept++].seconds;
  }
  if (kept < cases.size()) {
    std::string names;
    for (std::size_t i = kept; i < cases.size(); ++i) names += "\n  " + describe(cases[i].shape);
    log_warning(
        fmt::format("{} of {} shapes left out, for all together need more than {:.0f} s: "
                    "--seconds gives more time, --only, --batch, --steps and --hidden choose{}",
                    cases.size() - kept, cases.size(), seconds, names));
  }
  cases.resize(kept);
  std::sort(cases.begin(), cases.end(),
            [](const auto& a, const auto& b) { return a.place < b.place; });
  return cases;
}

struct LayerResult {
  LayerCase shape;
  std::string contestant;
  Samples samples;
  std::optional<double> packing;  // ours only
};

/// oneDNN's layer, or nothing, after a word, where this CPU has none.
std::unique_ptr<OnednnLayer> make_onednn(const LayerCase& shape, const LayerInputs& inputs) {
  try {
    return std::make_unique<OnednnLayer>(shape, inputs);
  } catch (const Error& error) {
    log_warning(fmt::format("{}: {}", describe(shape), error.what()));
    return nullptr;
  }
}

std::vector<LayerResult> measure_case(const LayerCase& shape,
                                      const std::vector<std::string>& methods, double seconds) {
  const LayerInputs inputs(shape);
  std::vector<std::unique_ptr<OurLayer>> ours;
  std::vector<Contestant> contestants;
  std::vector<LayerResult> results;
  for (const std::string& method : methods) {
    ours.push_back(std::make_unique<OurLayer>(shape, inputs, method));
    contestants.emplace_back([layer = ours.back().get()] { return layer->run(); });
    results.push_back({shape, "ours-" + method, {}, packing_seconds(shape, inputs, method)});
  }
  const std::unique_ptr<OnednnLayer> onednn = make_onednn(shape, inputs);
  if (onednn != nullptr) {
    contestants.emplace_back([&onednn] { return onednn->run(); });
    results.push_back({shape, "onednn", {}, std::nullopt});
  }
  for (const Contestant& contestant : contestants) contestant();
  const std::vector<Samples> samples =
      measure_interleaved(contestants, {kMostRounds, seconds, kLeastRounds});
  for (std::size_t i = 0; i < results.size(); ++i) results[i].samples = samples[i];
  return results;
}

/// Any feedbacks that are asked for, or the paper's three. Throws ConfigError on an unknown name.
std::vector<std::string> methods_of(const BenchOptions& options) {
  if (options.methods.empty()) return {"bptt", "ft", "dsf"};
  for (const std::string& method : options.methods) parse_feedback_method(method);
  return options.methods;
}

nlohmann::ordered_json to_json(const LayerResult& result) {
  const LayerCase& shape = result.shape;
  nlohmann::ordered_json json = {{"cell", shape.cell},
                                 {"batch", shape.batch},
                                 {"steps", shape.steps},
                                 {"hidden", shape.hidden},
                                 {"precision", name_of(shape.precision)},
                                 {"contestant", result.contestant},
                                 {"forward_ms", milliseconds(result.samples.median(0))},
                                 {"backward_ms", milliseconds(result.samples.median(1))},
                                 {"forward_ms_min", milliseconds(result.samples.minimum(0))},
                                 {"backward_ms_min", milliseconds(result.samples.minimum(1))},
                                 {"rounds", result.samples.rounds()}};
  if (result.packing) json["prepare_ms"] = milliseconds(*result.packing);
  return json;
}

/// `reference`: seconds of oneDNN's median run, 0 where there is none.
void add_row(const LayerResult& result, double reference, Table& table) {
  const LayerCase& shape = result.shape;
  const auto ms = [](double seconds) { return fmt::format("{:.2f}", seconds * 1e3); };
  const double total = result.samples.median_total();
  table.add_row({shape.cell, name_of(shape.precision), fmt::to_string(shape.batch),
                 fmt::to_string(shape.steps), fmt::to_string(shape.hidden), result.contestant,
                 ms(result.samples.median(0)), ms(result.samples.median(1)),
                 ms(result.samples.minimum(0)), ms(result.samples.minimum(1)),
                 reference > 0.0 ? fmt::format("{:.2f} x", reference / total) : "-"});
}

}  // namespace

BenchReport bench_layer(const BenchOptions& options) {
  const Timer timer;
  const auto methods = methods_of(options);
  const auto cases = within_time(plan_cases(options, methods.size() + 1), options.seconds);
  double planned_left = 0.0;
  for (const PlannedCase& planned : cases) planned_left += planned.seconds;

  BenchReport report;
  report.tables.emplace_back(std::vector<std::string>{"cell", "precision", "B", "T", "D",
                                                      "contestant", "forward ms", "backward ms",
                                                      "best fwd", "best bwd", "over oneDNN"});
  for (const PlannedCase& planned : cases) {
    // Three rounds of a shape may take longer than planned. Shapes are left out then, not rounds.
    if (!report.results.empty() && timer.seconds() > kMostOverdue * options.seconds) {
      log_warning(fmt::format("{} is left out: the time is up (--seconds gives more)",
                              describe(planned.shape)));
      continue;
    }
    // Time that the plan leaves over goes to the cases still to come, by their cost.
    const double left = std::max(0.0, options.seconds - timer.seconds());
    const double share = left * planned.seconds / planned_left;
    planned_left -= planned.seconds;
    log_info(describe(planned.shape));
    const auto results = measure_case(planned.shape, methods, share);
    const double reference =
        results.back().contestant == "onednn" ? results.back().samples.median_total() : 0.0;
    for (const LayerResult& result : results) {
      report.results.push_back(to_json(result));
      add_row(result, reference, report.tables.back());
    }
  }
  return report;
}

}  // namespace dsf
