#include "apps/dsf/config_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "apps/dsf/common_options.h"
#include "dsf/run/config_keyword.h"

namespace dsf {

void ConfigOptions::add_to(CLI::App& command, const std::vector<ConfigFlag>& flags) {
  command
      .add_option("--config", config_file_, "TOML file with sections data, model, feedback, train")
      ->option_text("FILE")
      ->check([](const std::string& name) {
        return name.empty() ? std::string("the name of a file is missing") : std::string();
      });
  flags_.reserve(flags.size());  // the options hold references into it
  for (const ConfigFlag& flag : flags) {
    const std::string key = flag.key;
    const std::size_t dot = key.find('.');
    const Field& field = find_field(key.substr(0, dot), key.substr(dot + 1), flag.flag);
    FlagValue& value = flags_.emplace_back(FlagValue{flag, "", false});
    const auto take = [&value](const std::string& text) {
      value.value = text;
      value.given = true;
    };
    const std::string doc = fmt::format("{} ({})", field.doc, key);
    if (std::holds_alternative<bool>(get(field, RunConfig()))) {
      command.add_flag_callback(
          flag.flag, [take] { take("true"); }, doc);
      continue;
    }
    command.add_option_function<std::string>(flag.flag, take, doc)
        ->option_text(field.choices.empty() ? "VALUE"
                                            : fmt::format("{}", fmt::join(field.choices, "|")));
  }
  add_set_option(command, sets_, "any other key of the configuration, as often as needed");
}

std::vector<Assignment> ConfigOptions::assignments() const {
  std::vector<Assignment> given;
  for (const FlagValue& flag : flags_) {
    if (flag.given) given.push_back(parse_assignment(flag.flag.key, flag.value, flag.flag.flag));
  }
  const std::vector<Assignment> sets = parse_assignments(sets_);
  given.insert(given.end(), sets.begin(), sets.end());
  return in_order_of_effect(
      config_file_.empty() ? std::vector<Assignment>{} : read_config_file(config_file_),
      std::move(given));
}

std::string config_help() {
  const RunConfig defaults;
  std::string text = "Keys of the configuration, for TOML files and --set section.key=value:\n";
  std::string_view section;
  for (const Field& field : config_fields()) {
    if (field.section != section) text += fmt::format("\n[{}]\n", field.section);
    section = field.section;
    text += fmt::format("  {} = {}\n      {}; {}\n", field.key, to_toml(get(field, defaults)),
                        field.doc, describe_allowed(field));
  }
  return text;
}

}  // namespace dsf
