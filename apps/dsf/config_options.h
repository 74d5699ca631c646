#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "dsf/run/config_file.h"

namespace dsf {

/// A flag that is another name for a configuration key.
struct ConfigFlag {
  const char* flag;  ///< "--steps"
  const char* key;   ///< "train.steps"
};

/// --config, --set and flags for configuration keys, for every command that takes a configuration.
class ConfigOptions {
 public:
  /// Adds the options to a command. This object must live until the command has run.
  void add_to(CLI::App& command, const std::vector<ConfigFlag>& flags);

  /// What was given, lowest precedence first: file, flags, --set. Reads the file; throws
  /// ConfigError.
  std::vector<Assignment> assignments() const;

 private:
  struct FlagValue {
    ConfigFlag flag;
    std::string value;
    bool given = false;
  };
  std::string config_file_;
  std::vector<FlagValue> flags_;
  std::vector<std::string> sets_;
};

/// Every key with its default, its allowed values and its meaning, for --help-config.
std::string config_help();

}  // namespace dsf
