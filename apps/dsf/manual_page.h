#pragma once

#include <string>

#include "apps/dsf/cli_description.h"

namespace dsf {

/// The manual page, section 1, in roff. `version`: "0.1.0".
std::string manual_page(const CommandDescription& program, const std::string& version);

}  // namespace dsf
