#include "dsf/run/config_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "dsf/base/error.h"
#include "dsf/base/nearest_name.h"
#include "dsf/feedback/feedback_method.h"

namespace dsf {
namespace {

// A value, or a list's elements, as a real number inside the range.
bool in_range(double value, const FieldRange& range) {
  return std::isfinite(value) && value >= range.low && value <= range.high &&
         !(range.low_excluded && value == range.low) &&
         !(range.high_excluded && value == range.high);
}

bool allowed(const Field& field, const std::string& value) {
  return field.choices.empty() ||
         std::any_of(field.choices.begin(), field.choices.end(),
                     [&value](const std::string& choice) { return is_named(value, choice); });
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
  std::string low =
      std::isinf(range.low)
          ? ""
          : fmt::format(" {} {}", range.low_excluded ? "above" : "of at least", range.low);
  if (std::isinf(range.high)) return low;
  return fmt::format("{}{} {} {}", low, low.empty() ? "" : " and",
                     range.high_excluded ? "below" : "at most", range.high);
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

bool takes_string(const Field& field) {
  return std::holds_alternative<PlaceOf<std::string>>(field.place) ||
         std::holds_alternative<ChoicePlace>(field.place);
}

FieldValue get(const Field& field, const RunConfig& config) {
  // The places give mutable references; what is read here is not changed.
  auto& places = const_cast<RunConfig&>(config);
  return std::visit(
      [&places]<typename Place>(Place place) -> FieldValue {
        if constexpr (std::is_same_v<Place, ChoicePlace>) {
          return std::string(place.get(places));
        } else {
          return place(places);
        }
      },
      field.place);
}

void set(const Field& field, const FieldValue& given, std::string_view origin, RunConfig& config) {
  const auto refuse = [&] {
    const auto* name = std::get_if<std::string>(&given);
    if (name != nullptr && field.name() == "feedback.method") {
      if (const auto nearest = successor_of_removed(*name)) {
        throw ConfigError(fmt::format(
            "{}: feedback.method = \"{}\" is not there any more; the nearest that is: {}", origin,
            *name, *nearest));
      }
    }
    throw ConfigError(fmt::format("{}: {} = {}: must be {}", origin, field.name(), to_toml(given),
                                  describe_allowed(field)));
  };
  FieldValue value = given;
  if (std::holds_alternative<PlaceOf<double>>(field.place) &&
      std::holds_alternative<dim_t>(given)) {
    value = static_cast<double>(std::get<dim_t>(given));
  }
  std::visit(
      [&]<typename Place>(Place place) {
        if constexpr (std::is_same_v<Place, ChoicePlace>) {
          const auto* name = std::get_if<std::string>(&value);
          if (name == nullptr || !place.set(*name, config)) refuse();
        } else {
          using T = std::remove_reference_t<decltype(place(config))>;
          const T* typed = std::get_if<T>(&value);
          if (typed == nullptr || !allowed(field, *typed)) {
            refuse();
          } else {
            place(config) = *typed;
          }
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
      return field.choices.empty() ? "a string" : one_of();
    }
    std::string operator()(const ChoicePlace& /*place*/) const { return one_of(); }
    std::string one_of() const { return fmt::format("one of: {}", fmt::join(field.choices, ", ")); }
  };
  return std::visit(Describer{field}, field.place);
}

}  // namespace dsf
