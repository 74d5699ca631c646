#pragma once

// Options that mean the same in several commands.

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf {

/// Accepts whole numbers from `smallest` to `largest`.
CLI::Validator whole_number(dim_t smallest, dim_t largest = 1'000'000'000);
/// Accepts numbers above 0.
CLI::Validator positive_number();

/// --checkpoint best|last, for a command that reads a run. `checkpoint` begins as kAnyCheckpoint.
void add_checkpoint_option(CLI::App& command, std::string& checkpoint);

/// --threads N. 0, the default: as many as there are CPUs for this process.
void add_threads_option(CLI::App& command, dim_t& threads);

/// --set SECTION.KEY=VALUE, as often as needed.
void add_set_option(CLI::App& command, std::vector<std::string>& settings,
                    const std::string& description);

}  // namespace dsf
