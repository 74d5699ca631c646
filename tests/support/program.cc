#include "tests/support/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

void redirect(const std::string& path, int descriptor) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
}

std::vector<std::string> words_of_dsf(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {dsf_program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

std::string dsf_program() {
  const char* path = std::getenv("DSF_CLI");
  if (path == nullptr) throw std::runtime_error("the environment variable DSF_CLI is not set");
  return path;
}

int start_program(std::vector<std::string> words, const std::string& log_prefix,
                  const std::string& directory) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t process = ::fork();
  if (process < 0) throw std::runtime_error("fork failed");
  if (process == 0) {
    redirect(log_prefix + ".out", STDOUT_FILENO);
    redirect(log_prefix + ".err", STDERR_FILENO);
    if (!directory.empty() && ::chdir(directory.c_str()) != 0) ::_exit(126);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  return process;
}

int start_dsf(const std::vector<std::string>& arguments, const std::string& log_prefix,
              const std::string& directory) {
  return start_program(words_of_dsf(arguments), log_prefix, directory);
}

int wait_for(int process) {
  int status = 0;
  if (::waitpid(process, &status, 0) < 0) throw std::runtime_error("waitpid failed");
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

void wait_until_it_handles(int process, int signal) {
  const std::string file = "/proc/" + std::to_string(process) + "/status";
  const std::string name = "SigCgt:";  // a hexadecimal number, signal 1 its lowest bit
  constexpr int kTries = 6000;
  for (int i = 0; i < kTries; ++i) {
    const std::string status = slurp(file);
    const std::size_t at = status.find(name);
    if (at != std::string::npos) {
      const unsigned long long caught = std::stoull(status.substr(at + name.size()), nullptr, 16);
      if ((caught >> static_cast<unsigned>(signal - 1) & 1U) != 0) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("the process does not handle signal " + std::to_string(signal));
}

ProgramResult run_program(const std::vector<std::string>& words, const std::string& directory) {
  const TempDirectory logs;
  const std::string prefix = logs / "log";
  ProgramResult result;
  result.exit_code = wait_for(start_program(words, prefix, directory));
  result.out = slurp(prefix + ".out");
  result.err = slurp(prefix + ".err");
  return result;
}

ProgramResult run_dsf(const std::vector<std::string>& arguments, const std::string& directory) {
  return run_program(words_of_dsf(arguments), directory);
}

std::vector<std::string> bound_by_permissions() {
  if (::geteuid() != 0) return {};
  return {"setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"};
}

}  // namespace dsf
