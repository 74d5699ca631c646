// dsf man: the manual page.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "apps/dsf/commands.h"
#include "apps/dsf/manual_page.h"
#include "dsf/base/version.h"

namespace dsf {

void add_man_command(CLI::App& app) {
  app.add_subcommand("man", "the manual page: dsf man | man -l -")->callback([&app] {
    fmt::print("{}", manual_page(describe(app), std::string(version())));
  });
}

}  // namespace dsf
