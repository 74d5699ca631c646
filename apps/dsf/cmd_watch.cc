// dsf watch: a page with the live curves of all runs below a directory.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "apps/dsf/watch/watch_server.h"
#include "dsf/base/interrupt.h"

namespace dsf {
namespace {

struct WatchOptions {
  std::string directory = ".";
  int port = 8420;
};

void run_watch(const WatchOptions& options) {
  const InterruptGuard guard;
  WatchServer server(options.directory, options.port);
  fmt::print("watching {} at {} (Ctrl-C ends)\n", options.directory, server.address());
  std::fflush(stdout);
  server.serve(InterruptGuard::signal_seen);
}

}  // namespace

void add_watch_command(CLI::App& app) {
  const auto options = std::make_shared<WatchOptions>();  // shared with the callback below
  CLI::App* command =
      app.add_subcommand("watch", "a local page with live curves of the runs below a directory");
  command->add_option("directory", options->directory, "where the runs are")->capture_default_str();
  constexpr int kHighest = 65535;
  command->add_option("--port", options->port, "of 127.0.0.1; 0: any that is free")
      ->check(CLI::Range(0, kHighest))
      ->capture_default_str();
  command->callback([options] { run_watch(*options); });
}

}  // namespace dsf
