#include "dsf/train/config_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "dsf/base/error.h"
#include "dsf/base/nearest_name.h"

namespace dsf {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr FieldRange kAny = {-kInfinity, kInfinity};
constexpr FieldRange kFromZero = {0.0, kInfinity};
constexpr FieldRange kFromOne = {1.0, kInfinity};
constexpr FieldRange kAboveZero = {0.0, kInfinity, true};
constexpr FieldRange kUnit = {0.0, 1.0};
constexpr FieldRange kAboveZeroToOne = {0.0, 1.0, true};
// A width or length beyond this is a slip of the finger, and its square still fits into 64 bits.
constexpr FieldRange kSize = {1.0, 1e9};

// The place of a member, for instance DSF_AT(data.corpus).
#define DSF_AT(member) (+[](RunConfig & config) -> auto& { return config.member; })

std::vector<Field> make_fields() {
  using enum OnResume;
  return {
      {"data",
       "corpus",
       DSF_AT(data.corpus),
       kAny,
       {},
       checked,
       "PTB or WikiText directory, text file(s) separated by commas, or synthetic:recall"},
      {"data",
       "tokenizer",
       DSF_AT(data.tokenizer),
       kAny,
       {"word", "char", "byte"},
       fixed,
       "what a token is"},
      {"data",
       "vocab",
       DSF_AT(data.vocab),
       kFromZero,
       {},
       fixed,
       "size of the vocabulary, <unk>, <bos> and <eos> included; 0: as many as the text has"},
      {"data",
       "min_count",
       DSF_AT(data.min_count),
       kFromOne,
       {},
       fixed,
       "tokens seen less often become <unk>"},
      {"data",
       "batching",
       DSF_AT(data.batching),
       kAny,
       {"sentences", "blocks", "stream"},
       fixed,
       "lines shuffled; blocks of text shuffled; or text in order, the state carried on"},
      {"data", "context", DSF_AT(data.context), kSize, {}, fixed, "longest sequence, in tokens"},
      {"data",
       "valid",
       DSF_AT(data.valid),
       kAny,
       {},
       checked,
       "validation file, for a corpus that is a file"},
      {"data",
       "test",
       DSF_AT(data.test),
       kAny,
       {},
       checked,
       "test file, for a corpus that is a file"},
      {"data",
       "valid_fraction",
       DSF_AT(data.valid_fraction),
       kUnit,
       {},
       fixed,
       "part of the corpus to validate on, where no file is given"},
      {"data",
       "test_fraction",
       DSF_AT(data.test_fraction),
       kUnit,
       {},
       fixed,
       "part of the corpus to test on, where no file is given"},

      {"model",
       "mixer",
       DSF_AT(model.mixer),
       kAny,
       {"rnn", "gru", "lstm"},
       fixed,
       "what looks along time"},
      {"model", "hidden", DSF_AT(model.hidden), kSize, {}, fixed, "width of the model"},
      {"model", "layers", DSF_AT(model.layers), kSize, {}, fixed, "number of blocks"},
      {"model", "block", DSF_AT(model.block), kAny, {"plain"}, fixed, "plain: x + Mixer(x)"},
      {"model", "skip", DSF_AT(model.skip), kAny, {}, fixed, "skip connections around the mixers"},
      {"model",
       "reset",
       DSF_AT(model.reset),
       kAny,
       {"after", "before"},
       fixed,
       "gru: reset gate after or before the recurrent product"},

      {"feedback",
       "method",
       DSF_AT(feedback.method),
       kAny,
       {"bptt", "ft", "dsf"},
       fixed,
       "how gradients go back in time"},
      {"feedback",
       "init",
       DSF_AT(feedback.init),
       kAny,
       {"uniform", "linspace", "constant"},
       fixed,
       "dsf: how the diagonal is chosen"},
      {"feedback",
       "range",
       DSF_AT(feedback.range),
       kUnit,
       {},
       fixed,
       "dsf: [low, high] of the diagonal"},
      {"feedback",
       "scan",
       DSF_AT(feedback.scan),
       kAny,
       {"auto", "fused", "serial", "blocked", "fft"},
       fixed,
       "dsf: form of the reverse scan"},

      {"train", "epochs", DSF_AT(train.epochs), kFromOne, {}, free, "passes through the corpus"},
      {"train",
       "steps",
       DSF_AT(train.steps),
       kFromZero,
       {},
       free,
       "updates; 0: as many as the epochs have"},
      {"train", "batch", DSF_AT(train.batch), kSize, {}, fixed, "sequences in a batch"},
      {"train", "lr", DSF_AT(train.lr), kAboveZero, {}, free, "learning rate, at its peak"},
      {"train",
       "optimizer",
       DSF_AT(train.optimizer),
       kAny,
       {"adam", "adamw"},
       fixed,
       "adam: L2 inside the gradient; adamw: decoupled weight decay"},
      {"train",
       "weight_decay",
       DSF_AT(train.adam.weight_decay),
       kFromZero,
       {},
       free,
       "pull of the weights towards zero"},
      {"train", "beta1", DSF_AT(train.adam.beta1), kUnit, {}, free, "memory of the mean gradient"},
      {"train", "beta2", DSF_AT(train.adam.beta2), kUnit, {}, free, "memory of its square"},
      {"train",
       "epsilon",
       DSF_AT(train.adam.epsilon),
       kAboveZero,
       {},
       free,
       "added to the root of the mean square"},
      {"train",
       "schedule",
       DSF_AT(train.schedule.kind),
       kAny,
       {"constant", "step", "cosine"},
       free,
       "course of the learning rate"},
      {"train",
       "milestones",
       DSF_AT(train.schedule.milestones),
       kFromZero,
       {},
       free,
       "step: epochs at which the rate is multiplied by gamma"},
      {"train", "gamma", DSF_AT(train.schedule.gamma), kAboveZeroToOne, {}, free, "step: factor"},
      {"train",
       "warmup",
       DSF_AT(train.schedule.warmup),
       kUnit,
       {},
       free,
       "cosine: part of all steps in which the rate rises from 0"},
      {"train",
       "floor",
       DSF_AT(train.schedule.floor),
       kUnit,
       {},
       free,
       "cosine: rate of the last step, as a part of the peak"},
      {"train",
       "clip",
       DSF_AT(train.clip),
       kFromZero,
       {},
       free,
       "largest norm of the whole gradient; 0: no clipping"},
      {"train",
       "eval_every",
       DSF_AT(train.eval_every),
       kFromZero,
       {},
       free,
       "steps between evaluations; 0: at the end of each epoch"},
      {"train",
       "checkpoint_every",
       DSF_AT(train.checkpoint_every),
       kFromZero,
       {},
       free,
       "steps between checkpoints, besides the one after each evaluation; 0: none"},
      {"train",
       "log_every",
       DSF_AT(train.log_every),
       kFromOne,
       {},
       free,
       "steps between lines of log.jsonl"},
      {"train",
       "seed",
       DSF_AT(train.seed),
       kFromZero,
       {},
       fixed,
       "of initial weights, shuffling and diagonals"},
      {"train",
       "threads",
       DSF_AT(train.threads),
       {0.0, 4096.0},
       {},
       free,
       "0: the CPUs this process may run on"},
      {"train",
       "precision",
       DSF_AT(train.precision),
       kAny,
       {"auto", "f32", "bf16"},
       fixed,
       "of matrix products; auto: bf16 where the CPU is faster with it"},
  };
}

#undef DSF_AT

// A value, or a list's elements, as a real number inside the range.
bool in_range(double value, const FieldRange& range) {
  return std::isfinite(value) && value >= range.low && value <= range.high &&
         !(range.low_excluded && value == range.low);
}

bool allowed(const Field& field, const std::string& value) {
  return field.choices.empty() ||
         std::find(field.choices.begin(), field.choices.end(), value) != field.choices.end();
}
bool allowed(const Field& /*field*/, bool /*value*/) { return true; }
bool allowed(const Field& field, dim_t value) {
  return in_range(static_cast<double>(value), field.range);
}
bool allowed(const Field& field, double value) { return in_range(value, field.range); }
bool allowed(const Field& field, const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&field](double value) { return in_range(value, field.range); });
}

std::string describe_bounds(const FieldRange& range) {
  const std::string low =
      std::isinf(range.low)
          ? ""
          : fmt::format(" {} {}", range.low_excluded ? "above" : "of at least", range.low);
  if (std::isinf(range.high)) return low;
  return fmt::format("{}{} at most {}", low, low.empty() ? "" : " and", range.high);
}

template <typename T>
using PlaceOf = T& (*)(RunConfig&);

std::string to_toml_number(double value) {
  std::string text = fmt::format("{}", value);
  // 1e-05 and 0.1 are real numbers to TOML, 3 is not.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::span<const Field> config_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Field& field : config_fields()) {
    if (names.empty() || names.back() != field.section) names.emplace_back(field.section);
  }
  return names;
}

const Field& find_field(std::string_view section, std::string_view key, std::string_view origin) {
  std::vector<std::string> keys;
  std::vector<std::string> same_key;
  for (const Field& field : config_fields()) {
    if (field.section == section && field.key == key) return field;
    if (field.section == section) keys.emplace_back(field.key);
    if (field.key == key) same_key.push_back(field.name());
  }
  if (keys.empty()) {
    const std::vector<std::string> sections = section_names();
    throw ConfigError(fmt::format("{}: unknown section \"{}\"{} (known: {})", origin, section,
                                  did_you_mean(section, sections), fmt::join(sections, ", ")));
  }
  // The right key in the wrong section is the likelier slip.
  const std::string hint = same_key.empty()
                               ? did_you_mean(key, keys)
                               : fmt::format("; did you mean \"{}\"?", same_key.front());
  throw ConfigError(fmt::format("{}: unknown key \"{}.{}\"{} (known in [{}]: {})", origin, section,
                                key, hint, section, fmt::join(keys, ", ")));
}

FieldValue get(const Field& field, const RunConfig& config) {
  RunConfig copy = config;  // the places give mutable references
  return std::visit([&copy](auto place) -> FieldValue { return place(copy); }, field.place);
}

void set(const Field& field, const FieldValue& given, std::string_view origin, RunConfig& config) {
  const auto refuse = [&] {
    throw ConfigError(fmt::format("{}: {} = {}: must be {}", origin, field.name(), to_toml(given),
                                  describe_allowed(field)));
  };
  FieldValue value = given;
  if (std::holds_alternative<PlaceOf<double>>(field.place) &&
      std::holds_alternative<dim_t>(given)) {
    value = static_cast<double>(std::get<dim_t>(given));
  }
  std::visit(
      [&]<typename T>(PlaceOf<T> place) {
        const T* typed = std::get_if<T>(&value);
        if (typed == nullptr || !allowed(field, *typed)) {
          refuse();
        } else {
          place(config) = *typed;
        }
      },
      field.place);
}

std::string to_toml(const FieldValue& value) {
  struct Writer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(dim_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return to_toml_number(v); }
    // JSON's escapes are TOML's.
    std::string operator()(const std::string& v) const {
      return nlohmann::json(v).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
    std::string operator()(const std::vector<double>& v) const {
      std::vector<std::string> parts(v.size());
      std::transform(v.begin(), v.end(), parts.begin(), to_toml_number);
      return fmt::format("[{}]", fmt::join(parts, ", "));
    }
  };
  return std::visit(Writer{}, value);
}

std::string describe_allowed(const Field& field) {
  struct Describer {
    const Field& field;
    std::string operator()(PlaceOf<bool> /*place*/) const { return "true or false"; }
    std::string operator()(PlaceOf<dim_t> /*place*/) const {
      return "a whole number" + describe_bounds(field.range);
    }
    std::string operator()(PlaceOf<double> /*place*/) const {
      return "a number" + describe_bounds(field.range);
    }
    std::string operator()(PlaceOf<std::vector<double>> /*place*/) const {
      return "a list of numbers, each" + describe_bounds(field.range);
    }
    std::string operator()(PlaceOf<std::string> /*place*/) const {
      if (field.choices.empty()) return "a string";
      return fmt::format("one of: {}", fmt::join(field.choices, ", "));
    }
  };
  return std::visit(Describer{field}, field.place);
}

}  // namespace dsf
