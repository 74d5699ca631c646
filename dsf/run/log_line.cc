#include "dsf/run/log_line.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace dsf {

using nlohmann::json;

double number_at(const json& line, const char* key) {
  const auto found = line.find(key);
  const bool there = found != line.end() && found->is_number();
  return there ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

dim_t count_at(const json& line, const char* key, dim_t otherwise) {
  const auto found = line.find(key);
  const bool there = found != line.end() && found->is_number_integer();
  return there ? found->get<dim_t>() : otherwise;
}

std::string text_at(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace dsf
