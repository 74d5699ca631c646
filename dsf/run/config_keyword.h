#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsf/run/config_file.h"

namespace dsf {

/// As parse_assignment, for callers that name keys by keywords: "section.key", or the key alone, since no
/// two sections have one of the same name. "data" is short for data.corpus and "feedback" for
/// feedback.method, as the flags of `dsf train` are.
Assignment parse_keyword(std::string_view name, std::string_view value, std::string origin);

/// The assignments of a file and those given beside it, lowest precedence first. Epochs set the steps to 0,
/// so steps that are given beside epochs come after them, in whatever order they were given.
std::vector<Assignment> in_order_of_effect(std::vector<Assignment> file,
                                           std::vector<Assignment> given);

}  // namespace dsf
