#include "apps/dsf/cli_description.h"

#include <algorithm>
#include <cctype>

namespace dsf {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// From an option text "a|b|c", or CLI11's description of a set, "TEXT:{a,b,c}". "FILE|RUN" lists
/// what may stand there, not words to type.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string& text = option.get_option_text();
  if (text.find('|') != std::string::npos && std::islower(text.front()) != 0) {
    return split(text, '|');
  }
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return split(type.substr(open + 1, close - open - 1), ',');
}

OptionDescription describe_option(const CLI::Option& option) {
  OptionDescription described;
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  if (described.names.empty()) described.positional = option.get_single_name();
  if (option.get_items_expected_max() > 0) {
    described.choices = choices_of(option);
    const std::string& text = option.get_option_text();
    if (!described.choices.empty()) {
      for (const std::string& choice : described.choices) {
        described.value += (described.value.empty() ? "" : "|") + choice;
      }
    } else {
      const std::string type = option.get_type_name();  // "INT:POSITIVE"
      described.value = text.empty() ? type.substr(0, type.find(':')) : text;
    }
  }
  described.default_value = option.get_default_str();
  described.description = option.get_description();
  described.required = option.get_required();
  described.repeated = option.get_items_expected_max() > 1;
  return described;
}

}  // namespace

CommandDescription describe(const CLI::App& app) {
  CommandDescription described{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    described.options.push_back(describe_option(*option));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    described.commands.push_back(describe(*command));
  }
  return described;
}

}  // namespace dsf
