#include "lab/report/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "dsf/base/error.h"
#include "dsf/base/utf8.h"

namespace dsf {
namespace {

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
}

/// The file actions of one spawn, freed with their scope.
class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

int wait_for_exit(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw Error(fmt::format("waiting for gnuplot: {}", std::strerror(errno)));
  }
  return status;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    const bool shown = c.value != kMalformed && !is_control(c.value);
    out += shown ? text.substr(at, c.length) : kReplacementCharacter;
    at += c.length;
  }
  return out;
}

std::string gnuplot_string(std::string_view text) {
  std::string out = "'";
  for (const char c : printable(text)) out += c == '\'' ? "''" : std::string(1, c);
  return out + '\'';
}

std::string gnuplot_tic(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? "%%" : std::string(1, c);
  return gnuplot_string(doubled);
}

std::string gnuplot_file(std::string_view name) { return gnuplot_string("./" + std::string(name)); }

bool run_gnuplot(const std::filesystem::path& directory, const std::string& script) {
  SpawnActions actions;
  ::posix_spawn_file_actions_addchdir_np(actions.get(),
                                         directory.empty() ? "." : directory.c_str());
  ::posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // An argument that begins with "-" would be an option.
  std::string argument = "./" + script;
  std::string program = "gnuplot";
  const std::array<char*, 3> arguments = {program.data(), argument.data(), nullptr};
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, program.c_str(), actions.get(), nullptr,
                                    arguments.data(), ::environ);
  if (failed == ENOENT) return false;
  if (failed != 0) throw Error(fmt::format("cannot start gnuplot: {}", std::strerror(failed)));
  const int status = wait_for_exit(process);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  throw Error(
      fmt::format("gnuplot could not draw {} (status {})", (directory / script).string(), status));
}

}  // namespace dsf
