#include "dsf/use/interchange_config.h"

#include <fmt/format.h>

#include "dsf/base/error.h"
#include "dsf/base/foreign_json.h"
#include "dsf/base/hash.h"
#include "dsf/base/json_number.h"
#include "dsf/base/version.h"
#include "dsf/layers/attention.h"
#include "dsf/run/config_file.h"
#include "dsf/run/config_json.h"

namespace dsf {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "dsf-model";
constexpr int kVersion = 1;
constexpr int kHexadecimal = 16;

FieldValue value_of(const json& value, const std::string& origin) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<dim_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return value.get<std::vector<double>>();
  throw ConfigError(fmt::format("{}: {} is not a value of a key", origin, value.dump()));
}

RunConfig config_of(const json& sections, const std::string& origin) {
  // In the order of the fields, as a config.toml has them, and no key left unread.
  std::vector<Assignment> assignments;
  for (const auto& [section, keys] : sections.items()) {
    for (const auto& [key, value] : keys.items()) find_field(section, key, origin);
  }
  for (const Field& field : config_fields()) {
    const json keys = sections.value(std::string(field.section), json::object());
    const auto found = keys.find(std::string(field.key));
    if (found != keys.end()) {
      assignments.push_back({&field, value_of(*found, origin), origin});
    }
  }
  return with_assignments(RunConfig(), assignments);
}

InterchangeConfig config_from(const json& document, const std::string& origin) {
  if (!document.is_object() || document.value("format", "") != kFormat) {
    throw ConfigError(fmt::format("{}: \"format\" is not \"{}\"", origin, kFormat));
  }
  if (document.at("version") != kVersion) {
    throw ConfigError(fmt::format("{}: version {}; this program reads version {}", origin,
                                  document.at("version").dump(), kVersion));
  }
  InterchangeConfig config;
  config.run = config_of(document.at("config"), origin);
  config.run.model.context = count_at(document, "context");
  config.vocab = count_at(document, "vocab");
  config.step = count_at(document, "step");
  config.data_hash =
      std::stoull(document.at("data_hash").get<std::string>(), nullptr, kHexadecimal);
  config.tokenizer = document.at("tokenizer");
  config.weights = document.value("weights", "");
  if (config.vocab < 1) throw ConfigError(fmt::format("{}: vocab 0 cannot be", origin));
  constexpr dim_t kMost = 1'000'000'000;
  if (config.vocab > kMost || config.run.model.context > kMost) {
    throw ConfigError(fmt::format("{}: vocab and context must be at most {}", origin, kMost));
  }
  return config;
}

}  // namespace

std::string to_json(const InterchangeConfig& config) {
  const ordered_json document = {{"format", kFormat},
                                 {"version", kVersion},
                                 {"made_by", fmt::format("dsf {}", version())},
                                 {"weights", config.weights},
                                 {"vocab", config.vocab},
                                 {"context", config.run.model.context},
                                 {"heads", Attention::kDefaultHeads},
                                 {"step", config.step},
                                 {"data_hash", to_hex(config.data_hash)},
                                 {"config", ordered_json::parse(to_json(config.run))},
                                 {"tokenizer", config.tokenizer}};
  return document.dump(1) + "\n";
}

InterchangeConfig parse_interchange_config(const std::string& text, const std::string& origin) {
  try {
    return config_from(parse_foreign_json(text), origin);
  } catch (const json::exception& error) {
    throw ConfigError(fmt::format("{}: {}", origin, error.what()));
  } catch (const ConfigError&) {
    throw;
  } catch (const Error& error) {  // parse_foreign_json's, count_at's
    throw ConfigError(fmt::format("{}: {}", origin, error.what()));
  } catch (const std::logic_error& error) {  // stoull's
    throw ConfigError(fmt::format("{}: data_hash is not a hexadecimal number", origin));
  }
}

}  // namespace dsf
