#pragma once

// `dsf watch` at work on the runs of a directory, asked over HTTP.

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/http.h"
#include "tests/support/program_fixture.h"

namespace dsf {

class WatchTest : public ProgramTest {
 protected:
  /// Trains the run "one" of six steps. Nothing is watched before start().
  WatchTest();
  ~WatchTest() override;

  /// Trains `name` in the watched directory and logs every step.
  void make_run(const std::string& name, const Words& more) const;

  /// Starts the server and waits for its address. `before`: a program that starts it, as setpriv.
  void start(const Words& before = {});
  /// Interrupts the server and gives its exit code.
  int stop();

  /// With the token in front of `target`.
  HttpAnswer get(const std::string& target, const std::string& headers = "") const;
  /// The same, which must be answered with status 200.
  nlohmann::json get_json(const std::string& target) const;
  /// The names of the runs that the server lists.
  std::vector<std::string> listed() const;

  int process_ = 0;
  int port_ = 0;
  std::string prefix_;  // "/" and the token
};

}  // namespace dsf
