#pragma once

// Whole numbers out of JSON that somebody else may have written.

#include <cstdint>
#include <limits>
#include <string>

#include "dsf/base/dim.h"
#include "dsf/base/error.h"

namespace dsf {

/// object[key], a whole number from 0 on. Throws Error if it is not one, and what object.at(key)
/// throws; get<dim_t>() also takes 1e300, which is undefined behaviour, and wraps what is too
/// large.
template <typename Json>
dim_t count_at(const Json& object, const char* key) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<dim_t>::max());
  const Json& value = object.at(key);
  if (!value.is_number_unsigned() || value.template get<std::uint64_t>() > kMost) {
    throw Error(std::string(key) + " is " + value.dump() + ", not a count");
  }
  return value.template get<dim_t>();
}

}  // namespace dsf
