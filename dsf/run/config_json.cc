#include "dsf/run/config_json.h"

#include <nlohmann/json.hpp>
#include <variant>

#include "dsf/run/config_fields.h"

namespace dsf {

std::string to_json(const RunConfig& config) {
  nlohmann::ordered_json sections;
  for (const Field& field : config_fields()) {
    sections[std::string(field.section)][std::string(field.key)] = std::visit(
        [](const auto& value) { return nlohmann::ordered_json(value); }, get(field, config));
  }
  return sections.dump();
}

}  // namespace dsf
