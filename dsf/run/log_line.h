#pragma once

// Values of a line of a run's log, whatever a crash or an overflow left in it.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dsf/base/dim.h"

namespace dsf {

/// NaN if it is missing or not a number: what is not finite is written as null.
double number_at(const nlohmann::json& line, const char* key);

dim_t count_at(const nlohmann::json& line, const char* key, dim_t otherwise);

/// Empty if it is missing or not text.
std::string text_at(const nlohmann::json& line, const char* key);

}  // namespace dsf
