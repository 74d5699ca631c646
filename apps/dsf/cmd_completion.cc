// dsf completion: scripts for the shell. dsf man: the manual page.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "apps/dsf/completion.h"
#include "dsf/base/version.h"

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

void add_man_command(CLI::App& app) {
  app.add_subcommand("man", "the manual page: dsf man | man -l -")->callback([&app] {
    fmt::print("{}", manual_page(describe(app), std::string(version())));
  });
}

}  // namespace dsf
