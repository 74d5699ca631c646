#pragma once

#include <string>

#include "dsf/data/dataset.h"
#include "dsf/run/run_config.h"

namespace dsf {

/// Warns if batches of sentences leave out more than a per cent of the split because its lines
/// are longer than data.context. `name`: of the split, for people.
void warn_of_long_lines(const Split& split, const RunConfig& config, const std::string& name);

}  // namespace dsf
