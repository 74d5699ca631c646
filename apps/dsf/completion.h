#pragma once

#include <string>

#include "apps/dsf/cli_description.h"

namespace dsf {

/// A script that teaches the shell to complete the program's command line.
std::string bash_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);

}  // namespace dsf
