#pragma once

#include <cstdint>
#include <span>

#include "dsf/layers/parameter.h"

namespace dsf {

/// Fills `flat` (table.flat_size() long) as each parameter's Init says. Each draws from a generator
/// of its own name, so that one more layer changes no other's start.
void draw_initial_weights(const ParameterTable& table, std::uint64_t seed, std::span<float> flat);

}  // namespace dsf
