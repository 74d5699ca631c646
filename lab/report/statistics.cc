#include "lab/report/statistics.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace dsf {

std::optional<Statistics> statistics_of(const std::vector<double>& values, dim_t wanted) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  Statistics s;
  s.count = static_cast<dim_t>(values.size());
  s.wanted = wanted;
  for (const double value : values) s.mean += value / count;
  double squares = 0.0;
  for (const double value : values) squares += (value - s.mean) * (value - s.mean);
  if (count > 1.0) s.deviation = std::sqrt(squares / (count - 1.0));
  return s;
}

std::string cell(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string cell(const std::optional<Statistics>& value) {
  if (!value) return "-";
  std::string text = cell(std::optional(value->mean), 2);
  if (value->deviation != 0.0) text += fmt::format(" ± {:.2f}", value->deviation);
  if (value->count < value->wanted) {
    text += fmt::format(" ({} of {})", value->count, value->wanted);
  }
  return text;
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

std::optional<double> ratio(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a / *b) : std::nullopt;
}

}  // namespace dsf
