#pragma once

// The command line as data, read off CLI11's own description of it: what completion and the manual
// page are made from, so that neither can say anything that --help does not.

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace dsf {

struct OptionDescription {
  std::vector<std::string> names;    ///< "--out"; empty for a positional argument
  std::string positional;            ///< "run"; empty for an option
  std::string value;                 ///< what stands for the value: "FILE"; empty for a flag
  std::vector<std::string> choices;  ///< the values it takes, if they can be listed
  std::string default_value;
  std::string description;
  bool required = false;
  bool repeated = false;
};

struct CommandDescription {
  std::string name;
  std::string description;
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};

CommandDescription describe(const CLI::App& app);

}  // namespace dsf
