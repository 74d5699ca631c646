// dsf completion: scripts for the shell.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "apps/dsf/completion.h"

namespace dsf {

void add_completion_command(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();  // shared with the callback below
  CLI::App* command = app.add_subcommand("completion", "completion of dsf's words, for a shell");
  command->add_option("shell", *shell, "which one")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([&app, shell] {
    const CommandDescription program = describe(app);
    fmt::print("{}", *shell == "bash" ? bash_completion(program) : zsh_completion(program));
  });
}

}  // namespace dsf
