#pragma once

#include <string>

#include "apps/dsf/cli_description.h"

namespace dsf {

/// A script that teaches the shell to complete the program's command line.
std::string bash_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);

/// The manual page, section 1, in roff. `version`: "0.1.0".
std::string manual_page(const CommandDescription& program, const std::string& version);

}  // namespace dsf
