#include "apps/dsf/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dsf {
namespace {

/// In single quotes, for both shells.
std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char character : text) {
    result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return result + "'";
}

/// "iterated:K" wants a number: what can be completed is "iterated:", and of "bptt:rank[:K]" all
/// but the number.
std::string completable(const std::string& choice) {
  if (choice.ends_with("[:K]")) return choice.substr(0, choice.size() - 4);
  return choice.ends_with(":K") ? choice.substr(0, choice.size() - 1) : choice;
}

std::string words_of(const std::vector<std::string>& choices) {
  std::vector<std::string> words;
  words.reserve(choices.size());
  for (const std::string& choice : choices) words.push_back(completable(choice));
  return fmt::format("{}", fmt::join(words, " "));
}

// --- bash: the commands typed so far make a path, "dsf tokenizer train", that picks the words ---

void add_bash_cases(const CommandDescription& command, const std::string& path,
                    std::string& options, std::string& values, std::string& commands) {
  std::vector<std::string> names;
  for (const OptionDescription& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.value.empty() || option.names.empty()) continue;
    const std::string action =
        option.choices.empty() ? "_dsf_files" : "_dsf_words " + in_quotes(words_of(option.choices));
    for (const std::string& name : option.names) {
      values += fmt::format("    {}) {}; return ;;\n", in_quotes(fmt::format("{} {}", path, name)),
                            action);
    }
  }
  for (const OptionDescription& option : command.options) {
    if (!option.positional.empty() && !option.choices.empty()) {
      commands += fmt::format("    {}) words={} ;;\n", in_quotes(path),
                              in_quotes(words_of(option.choices)));
    }
  }
  options += fmt::format("    {}) options={} ;;\n", in_quotes(path),
                         in_quotes(fmt::format("{}", fmt::join(names, " "))));
  if (command.commands.empty()) return;
  std::vector<std::string> below;
  for (const CommandDescription& sub : command.commands) below.push_back(sub.name);
  commands += fmt::format("    {}) words={} ;;\n", in_quotes(path),
                          in_quotes(fmt::format("{}", fmt::join(below, " "))));
  for (const CommandDescription& sub : command.commands) {
    add_bash_cases(sub, path + " " + sub.name, options, values, commands);
  }
}

// Every path, for the loop that finds how far the commands go.
void add_paths(const CommandDescription& command, const std::string& path, std::string& paths) {
  for (const CommandDescription& sub : command.commands) {
    const std::string below = path + " " + sub.name;
    paths += (paths.empty() ? "" : "|") + in_quotes(below);
    add_paths(sub, below, paths);
  }
}

constexpr const char* kBashHead = R"(# bash completion for dsf, made by `dsf completion bash`

# A choice may hold a colon, at which bash begins a new word.
_dsf_words() {
  COMPREPLY=($(compgen -W "$1" -- "$current"))
  local before=${current%"${current##*:}"}
  [[ $current == *:* && $COMP_WORDBREAKS == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"$before"}")
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace
}

_dsf_files() {
  compopt -o default
  COMPREPLY=()
}

)";

constexpr const char* kBashBody = R"(  local line=${COMP_LINE:0:COMP_POINT}
  local typed=() current= previous= command=dsf word options= words=
  read -r -a typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=("")
  current=${typed[-1]}
  ((${#typed[@]} > 1)) && previous=${typed[-2]}
  for word in "${typed[@]:1:${#typed[@]}-2}"; do
    case "$command $word" in
)";

// --- zsh ---

/// Inside a specification of _arguments, brackets and colons have a meaning.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char character : text) {
    if (std::string_view("[]:\\").find(character) != std::string_view::npos) result += '\\';
    result += character;
  }
  return result;
}

std::string zsh_action(const OptionDescription& option) {
  if (option.choices.empty()) return "_files";
  std::vector<std::string> choices;
  for (const std::string& choice : option.choices) choices.push_back(zsh_text(completable(choice)));
  return fmt::format("({})", fmt::join(choices, " "));
}

std::vector<std::string> zsh_arguments(const CommandDescription& command) {
  std::vector<std::string> arguments;
  for (const OptionDescription& option : command.options) {
    if (!option.positional.empty()) {
      arguments.push_back(in_quotes(fmt::format("{}:{}:{}", option.repeated ? "*" : "",
                                                zsh_text(option.positional), zsh_action(option))));
    }
    for (const std::string& name : option.names) {
      std::string specification = fmt::format("{}[{}]", name, zsh_text(option.description));
      if (!option.value.empty()) {
        specification += fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
      }
      arguments.push_back(in_quotes(specification));
    }
  }
  return arguments;
}

std::string zsh_function_name(const std::string& path) {
  std::string name = "_" + path;
  for (char& character : name) {
    if (character == ' ') character = '_';
  }
  return name;
}

void add_zsh_function(const CommandDescription& command, const std::string& path,
                      std::string& script) {
  const std::string name = zsh_function_name(path);
  std::vector<std::string> arguments = zsh_arguments(command);
  script += fmt::format("{}() {{\n", name);
  if (command.commands.empty()) {
    script += fmt::format("  _arguments -S \\\n    {}\n}}\n\n", fmt::join(arguments, " \\\n    "));
    return;
  }
  script += "  local context state state_descr line\n  typeset -A opt_args\n";
  script += fmt::format(
      "  _arguments -C \\\n    {} \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n",
      fmt::join(arguments, " \\\n    "));
  script += "    command)\n      local -a commands=(\n";
  for (const CommandDescription& sub : command.commands) {
    script += fmt::format("        {}\n", in_quotes(sub.name + ":" + sub.description));
  }
  script += "      )\n      _describe command commands ;;\n    rest)\n      case $line[1] in\n";
  for (const CommandDescription& sub : command.commands) {
    script +=
        fmt::format("        {}) {} ;;\n", sub.name, zsh_function_name(path + " " + sub.name));
  }
  script += "      esac ;;\n  esac\n}\n\n";
  for (const CommandDescription& sub : command.commands) {
    add_zsh_function(sub, path + " " + sub.name, script);
  }
}

}  // namespace

std::string bash_completion(const CommandDescription& program) {
  std::string options;
  std::string values;
  std::string commands;
  std::string paths;
  add_bash_cases(program, program.name, options, values, commands);
  add_paths(program, program.name, paths);
  return kBashHead + std::string("_dsf() {\n") + kBashBody + "      " + paths +
         ") command=\"$command $word\" ;;\n    esac\n  done\n  case \"$command $previous\" in\n" +
         values + "  esac\n  case \"$command\" in\n" + options +
         "  esac\n  case \"$command\" in\n" + commands +
         "  esac\n  if [[ $current == -* ]]; then\n    _dsf_words \"$options\"\n"
         "  elif [[ $words ]]; then\n    _dsf_words \"$words\"\n  else\n    _dsf_files\n  fi\n}\n\n"
         "complete -F _dsf dsf\n";
}

std::string zsh_completion(const CommandDescription& program) {
  std::string script = "#compdef dsf\n# made by `dsf completion zsh`\n\n";
  add_zsh_function(program, program.name, script);
  return script +
         "if [ \"$funcstack[1]\" = _dsf ]; then\n  _dsf \"$@\"\nelse\n  compdef _dsf dsf\nfi\n";
}

}  // namespace dsf
