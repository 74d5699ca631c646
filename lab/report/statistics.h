#pragma once

// Numbers of several runs as one cell of a table.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

struct Statistics {
  double mean = 0.0;
  double deviation = 0.0;  ///< of a single value (n - 1); 0 for one value
  dim_t count = 0;         ///< of values
  dim_t wanted = 0;        ///< more than `count` if runs diverged or were stopped
};

/// Nothing if there is no value.
std::optional<Statistics> statistics_of(const std::vector<double>& values, dim_t wanted);

/// "12.34", "12.34 ± 0.05" if there are several values, "12.34 (1 of 3)" if there are fewer
/// than wanted, "-" if there is none.
std::string cell(const std::optional<Statistics>& value);
std::string cell(const std::optional<double>& value, int digits);

nlohmann::ordered_json or_null(const std::optional<double>& value);

std::optional<double> ratio(const std::optional<double>& a, const std::optional<double>& b);

}  // namespace dsf
