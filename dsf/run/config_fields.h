#pragma once

// The one list of configuration keys. It drives the defaults, the parsing of TOML and of --set, the
// config.toml of a run, the comparison on --resume and the help text: a new key is one new line.

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsf/run/run_config.h"

namespace dsf {

using FieldValue = std::variant<bool, dim_t, double, std::string, std::vector<double>>;

/// A field that is an enum (base/choice.h) in a RunConfig and its name outside of it.
struct ChoicePlace {
  std::string_view (*get)(const RunConfig&);
  /// False, and nothing is changed, if no value has this name.
  bool (*set)(std::string_view name, RunConfig&);
};

/// Where a field lives in a RunConfig. The alternative says the field's type.
using FieldPlace =
    std::variant<bool& (*)(RunConfig&), dim_t& (*)(RunConfig&), double& (*)(RunConfig&),
                 std::string& (*)(RunConfig&), std::vector<double>& (*)(RunConfig&), ChoicePlace>;

/// Bounds of a number, or of each number of a list.
struct FieldRange {
  double low;
  double high;
  bool low_excluded = false;
  bool high_excluded = false;
};

/// What --resume may do with a key.
enum class OnResume {
  fixed,    ///< belongs to what was trained so far: another value is refused
  checked,  ///< a name: it may change as long as the text behind it does not
  free      ///< how to go on from here
};

/// One key: where it lives, what it may be, and what help says of it.
struct Field {
  std::string_view section;
  std::string_view key;
  FieldPlace place;
  FieldRange range;                  ///< numbers
  std::vector<std::string> choices;  ///< strings; empty: any; "name:K": a number in K's place
  OnResume on_resume;
  std::string_view doc;

  std::string name() const { return std::string(section) + "." + std::string(key); }
};

std::span<const Field> config_fields();
std::vector<std::string> section_names();

/// The field of this name. Throws ConfigError, beginning with `origin`, with the nearest known
/// name.
const Field& find_field(std::string_view section, std::string_view key, std::string_view origin);

/// True if the field's value is written as a string.
bool takes_string(const Field& field);

FieldValue get(const Field& field, const RunConfig& config);

/// Sets the field, or throws ConfigError, beginning with `origin`, if type, range or choice do
/// not fit. A whole number is also a good real one.
void set(const Field& field, const FieldValue& value, std::string_view origin, RunConfig& config);

/// As it stands in a TOML file.
std::string to_toml(const FieldValue& value);

/// "a number above 0 and at most 1", "one of: adam, adamw", ...
std::string describe_allowed(const Field& field);

}  // namespace dsf
