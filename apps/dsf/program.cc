#include "apps/dsf/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "apps/dsf/commands.h"
#include "dsf/base/error.h"
#include "dsf/base/log.h"
#include "dsf/base/nearest_name.h"
#include "dsf/base/version.h"

namespace dsf {
namespace {

constexpr int kFailed = 1;

// CLI11 only says that "a subcommand is required"; the nearest name helps more.
void check_subcommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return;
  const std::string given = argv[1];
  if (given.empty() || given.front() == '-') return;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  if (std::find(known.begin(), known.end(), given) != known.end()) return;
  throw UsageError(fmt::format("there is no command \"{}\"{} (known: {})", given,
                               did_you_mean(given, known), fmt::join(known, ", ")));
}

int parse_and_run(int argc, char** argv) {
  CLI::App app(
      "dsf trains recurrent language models on CPUs, without back-propagation through time", "dsf");
  app.set_version_flag("--version",
                       fmt::format("dsf {} (commit {})\n{}, {}, {}", version(), git_commit(),
                                   build_type(), compiler(), build_features()));
  app.require_subcommand(1);
  add_commands(app);
  check_subcommand(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    if (asked_for) return app.exit(error);
    throw UsageError(fmt::format("{}; --help tells more", error.what()));
  }
  return 0;
}

}  // namespace

int run_program(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const Error& error) {
    log_error(error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    log_error("out of memory; a smaller model, batch or context needs less");
    return kFailed;
  } catch (const std::filesystem::filesystem_error& error) {
    log_error(error.what());
    return kFailed;
  } catch (const std::exception& error) {
    log_error(fmt::format("internal error: {}", error.what()));
    return kFailed;
  }
}

}  // namespace dsf
