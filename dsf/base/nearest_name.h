#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dsf/base/dim.h"

namespace dsf {

/// Letters to insert, delete, replace or swap with their neighbour to get from `a` to `b`.
dim_t edit_distance(std::string_view a, std::string_view b);

/// The known name that was probably meant, or "" if none is near: a third of the letters may be
/// wrong, at least two.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

/// "; did you mean \"NAME\"?" for the nearest known name, or "".
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace dsf
