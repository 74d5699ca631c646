#include "apps/dsf/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "apps/dsf/cli_description.h"
#include "apps/dsf/commands.h"
#include "dsf/base/error.h"
#include "dsf/base/error_text.h"
#include "dsf/base/log.h"
#include "dsf/base/nearest_name.h"
#include "dsf/base/option_lists.h"
#include "dsf/base/version.h"
#include "dsf/kernels/isa_cap.h"

namespace dsf {
namespace {

constexpr int kFailed = 1;

// CLI11 only says that "a subcommand is required"; the nearest name helps more.
void check_subcommand(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  if (argc < 2) {
    throw UsageError(
        fmt::format("no command is given (known: {}); see dsf --help", fmt::join(known, ", ")));
  }
  const std::string given = argv[1];
  if (given.empty() || given.front() == '-') return;
  if (std::find(known.begin(), known.end(), given) != known.end()) return;
  throw UsageError(fmt::format("there is no command \"{}\"{} (known: {})", given,
                               did_you_mean(given, known), fmt::join(known, ", ")));
}

/// The command that the words named: "train", "tokenizer encode".
const CLI::App& parsed_command(const CLI::App& app) {
  const std::vector<CLI::App*> below = app.get_subcommands();
  return below.empty() ? app : parsed_command(*below.front());
}

/// CLI11 lists what it could not place; a mistyped option gets the name that was probably meant.
std::string say_unexpected(const CLI::App& command) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& word : command.remaining()) {
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("{} has no option {}{}", command.get_name(), name,
                       did_you_mean(name, known));
  }
  return fmt::format("{} does not expect \"{}\"", command.get_name(),
                     fmt::join(command.remaining(), " "));
}

/// What CLI11 found wrong, in our words if its own do not tell what would be right.
std::string say_wrong(const CLI::ParseError& error, const CLI::App& command) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return say_unexpected(command);
  std::string text = error.what();
  constexpr std::string_view kNotConverted = "Could not convert: ";
  if (text.starts_with(kNotConverted)) {
    return fmt::format("{} is not a number that it can take", text.substr(kNotConverted.size()));
  }
  return text;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

// `--version` is known to every command.
void set_version(const std::string& text, CLI::App& command) {
  command.set_version_flag("--version", text);
  for (CLI::App* part : command.get_subcommands({})) set_version(text, *part);
}

CommandWords words_of(const CLI::App& command) {
  CommandWords words;
  const CommandDescription described = describe(command);
  const std::vector<const CLI::Option*> options = command.get_options();
  for (std::size_t i = 0; i < options.size(); ++i) {
    const OptionDescription& option = described.options[i];
    if (!option.positional.empty()) {
      words.places += 1;
      words.at_a_place.insert(option.choices.begin(), option.choices.end());
    } else if (options[i]->get_delimiter() == ',') {
      words.lists.insert(option.names.begin(), option.names.end());
    } else if (options[i]->get_items_expected_max() > 0) {
      words.single.insert(option.names.begin(), option.names.end());
    }
  }
  return words;
}

/// The words behind the program's name, the values of lists joined by commas.
std::vector<std::string> with_joined_lists(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return words;
  const std::vector<const CLI::App*> named =
      app.get_subcommands([&](const CLI::App* part) { return part->get_name() == words[0]; });
  if (named.empty()) return words;
  const std::vector<std::string> rest =
      join_lists(std::span(words).subspan(1), words_of(*named.front()));
  words.resize(1);
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

// CLI11 2.5 and later would fill the lines of a description anew, and so join those of a list.
template <typename Formatter>
void keep_lines_of_descriptions(Formatter& formatter) {
  if constexpr (requires { formatter.enable_description_formatting(false); }) {
    formatter.enable_description_formatting(false);
  }
}

int parse_and_run(int argc, char** argv) {
  CLI::App app(
      "dsf trains recurrent language models fast on CPUs: with exact BPTT, and with Diagonal State "
      "Feedbacks, which do without it",
      "dsf");
  keep_lines_of_descriptions(*app.get_formatter());
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // the last counts
  add_commands(app);
  set_version(fmt::format("dsf {} (commit {})\n{}, {}, {}", version(), git_commit(), build_type(),
                          compiler(), build_features()),
              app);
  check_subcommand(app, argc, argv);
  try {
    std::vector<std::string> words = with_joined_lists(app, argc, argv);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const bool asked_for = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    if (asked_for) return app.exit(error);
    const CLI::App& command = parsed_command(app);
    throw UsageError(
        fmt::format("{} (see {} --help)", say_wrong(error, command), full_name(command)));
  }
  return 0;
}

}  // namespace

int run_program(int argc, char** argv) {
  std::signal(SIGXFSZ,
              SIG_IGN);  // a file that grows too large is an error of write, with a message
  try {
    apply_isa_cap();
    const int code = parse_and_run(argc, argv);
    // Nobody looks at the stream after main has returned.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw IoError("cannot write to standard output");
    }
    return code;
  } catch (const Error& error) {
    log_error(error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    log_error(error_text(error));
    return kFailed;
  }
}

}  // namespace dsf
