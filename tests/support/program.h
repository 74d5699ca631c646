#pragma once

#include <string>
#include <vector>

namespace dsf {

struct ProgramResult {
  int exit_code = -1;  ///< 128 + signal where one ended it
  std::string out;
  std::string err;
};

/// The program under test, from the environment variable DSF_CLI; throws where it is not set.
std::string dsf_program();

/// Runs `dsf` with these arguments, in `directory` where one is given, and waits for it.
ProgramResult run_dsf(const std::vector<std::string>& arguments, const std::string& directory = "");

/// Starts a program, found on the PATH; wait_for ends it. Its output goes into the files
/// `log_prefix`.out and .err.
int start_program(std::vector<std::string> words, const std::string& log_prefix,
                  const std::string& directory = "");
/// The same with `dsf`.
int start_dsf(const std::vector<std::string>& arguments, const std::string& log_prefix,
              const std::string& directory = "");
int wait_for(int process);  ///< its exit code

}  // namespace dsf
