#include "dsf/experiment/statistics.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace dsf {

std::optional<Statistics> statistics_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  Statistics s;
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
  if (value->deviation == 0.0) return cell(std::optional(value->mean), 2);
  return fmt::format("{:.2f} ± {:.2f}", value->mean, value->deviation);
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

std::optional<double> ratio(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a / *b) : std::nullopt;
}

}  // namespace dsf
