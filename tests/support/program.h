#pragma once

#include <string>
#include <vector>

namespace dsf {

struct ProgramResult {
  int exit_code = -1;  ///< 128 + signal if one ended it
  std::string out;
  std::string err;
};

/// The program under test, from the environment variable DSF_CLI; throws if it is not set.
std::string dsf_program();

/// Runs a program, found on the PATH, in `directory` if one is given, and waits for it.
ProgramResult run_program(const std::vector<std::string>& words, const std::string& directory = "");
/// The same with `dsf`.
ProgramResult run_dsf(const std::vector<std::string>& arguments, const std::string& directory = "");

/// Starts a program, found on the PATH; wait_for ends it. Its output goes into the files
/// `log_prefix`.out and .err.
int start_program(std::vector<std::string> words, const std::string& log_prefix,
                  const std::string& directory = "");
/// The same with `dsf`.
int start_dsf(const std::vector<std::string>& arguments, const std::string& log_prefix,
              const std::string& directory = "");
int wait_for(int process);  ///< its exit code
/// Waits until a process has a handler for the signal; not longer than a minute.
void wait_until_it_handles(int process, int signal);

/// The words in front of a command line that let the permissions of files count for it: none for most users; for root,
/// a program that takes away the right to pass over them.
std::vector<std::string> bound_by_permissions();

}  // namespace dsf
