#pragma once

// Configurations from TOML files and command lines, and back.
//
// Precedence, lowest first: defaults, --config file, flags, --set. On resume the
// run's own config.toml takes the place of the defaults.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "dsf/run/config_fields.h"

namespace dsf {

/// One key that somebody set, and where.
struct Assignment {
  const Field* field = nullptr;
  FieldValue value;
  std::string origin;  ///< "gru.toml:3", "--steps", "--set train.lr=1"
};

/// Every assignment of a TOML file. Throws ConfigError with file and line.
std::vector<Assignment> read_config_file(const std::filesystem::path& path);
/// The same of text that is at hand; `name` stands for the file in messages.
std::vector<Assignment> parse_config(const std::string& text, const std::string& name);

/// "section.key" and the text of its value. A string need not be quoted.
Assignment parse_assignment(std::string_view name, std::string_view value, std::string origin);

/// "section.key=value", as behind --set.
Assignment parse_assignment(std::string_view text);
std::vector<Assignment> parse_assignments(const std::vector<std::string>& texts);

/// `base` with the assignments done, in order; validated. Assigning train.epochs sets train.steps
/// to 0: of the two ways to say how long, the later one counts. model.context, which is not a key of
/// its own, follows data.context.
RunConfig with_assignments(RunConfig base, const std::vector<Assignment>& assignments);

/// `run` continued with other settings. Throws UsageError, naming the key and both values, where an
/// assignment contradicts what the run was trained with.
RunConfig with_resumed_assignments(const RunConfig& run,
                                   const std::vector<Assignment>& assignments);

/// The whole configuration as a TOML file with a comment a key; read_config_file gives it back.
std::string to_toml(const RunConfig& config);

/// The configuration a run directory holds, resolved. Throws UsageError if `root` is not a run
/// directory, ConfigError where its config.toml is damaged.
RunConfig read_run_config(const std::filesystem::path& root);

/// A checksum of the keys that --resume may not change.
std::uint64_t fixed_part_hash(const RunConfig& config);

}  // namespace dsf
