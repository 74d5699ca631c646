#include "dsf/run/config_keyword.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dsf/base/error.h"
#include "dsf/base/nearest_name.h"

namespace dsf {
namespace {

std::string full_name(std::string_view keyword, std::string_view origin) {
  if (keyword.find('.') != std::string_view::npos) return std::string(keyword);
  if (keyword == "data") return "data.corpus";
  if (keyword == "feedback") return "feedback.method";
  std::vector<std::string> keys;
  for (const Field& field : config_fields()) {
    if (field.key == keyword) return field.name();
    keys.emplace_back(field.key);
  }
  throw ConfigError(fmt::format("{}: unknown key \"{}\"{} (known: {})", origin, keyword,
                                did_you_mean(keyword, keys), fmt::join(keys, ", ")));
}

}  // namespace

Assignment parse_keyword(std::string_view name, std::string_view value, std::string origin) {
  const std::string full = full_name(name, origin);
  return parse_assignment(full, value, std::move(origin));
}

std::vector<Assignment> in_order_of_effect(std::vector<Assignment> file,
                                           std::vector<Assignment> given) {
  std::stable_partition(given.begin(), given.end(), [](const Assignment& assignment) {
    return assignment.field->name() != "train.steps";
  });
  file.insert(file.end(), given.begin(), given.end());
  return file;
}

}  // namespace dsf
