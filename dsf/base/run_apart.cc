#include "dsf/base/run_apart.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "dsf/base/error.h"
#include "dsf/base/interrupt.h"

namespace dsf {
namespace {

// The first byte of what the process sends.
constexpr char kResult = 'r';
constexpr char kRefused = 'e';
constexpr int kEndedByItself = 3;

[[noreturn]] void fail(const std::string& what, const char* call) {
  throw IoError(fmt::format("{}: {}: {}", what, call, std::strerror(errno)));
}

/// A file descriptor, closed with its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) std::_Exit(kEndedByItself);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// In the new process. The signals of a terminal go to both; the other one decides.
[[noreturn]] void work_and_send(const std::function<std::string()>& work, int out, int messages,
                                const sigset_t& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1}) std::signal(signal, SIG_IGN);
  for (const int signal : {SIGTERM, SIGPIPE}) std::signal(signal, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::dup2(messages, STDERR_FILENO);
  // Registered last, it runs first: exit() must not touch what belongs to the other process.
  std::atexit([] { std::_Exit(kEndedByItself); });
  try {
    const std::string result = work();
    write_all(out, std::string(1, kResult));
    write_all(out, result);
  } catch (const DataError& error) {
    write_all(out, kRefused + std::string(error.what()));
  }
  std::_Exit(0);
}

/// Everything that comes, until the other end is closed.
std::string receive(const std::string& what, int in, pid_t process) {
  constexpr int kPatience = 100;  // milliseconds
  std::string received;
  std::array<char, 65536> piece;
  while (true) {
    if (const int signal = InterruptGuard::signal_seen(); signal != 0) {
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
      throw InterruptedError(fmt::format("{}: stopped by signal {}", what, signal));
    }
    struct pollfd ready {
      in, POLLIN, 0
    };
    if (::poll(&ready, 1, kPatience) <= 0) continue;
    const ssize_t count = ::read(in, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return received;
    received.append(piece.data(), static_cast<std::size_t>(count));
  }
}

int exit_status(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string last_line(int descriptor) {
  std::array<char, 4096> text;
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), from);
  std::string_view tail(text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (tail.ends_with('\n')) tail.remove_suffix(1);
  return std::string(tail.substr(tail.rfind('\n') + 1));
}

}  // namespace

std::string run_apart(const std::string& what, const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) fail(what, "pipe");
  const Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  const Descriptor messages(::memfd_create("messages", MFD_CLOEXEC));
  if (messages.get() < 0) fail(what, "memfd_create");
  std::fflush(nullptr);  // what is not written yet would be written twice
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t process = ::fork();
  if (process == 0) work_and_send(work, out.get(), messages.get(), before);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (process < 0) fail(what, "fork");
  out.close();
  std::string received = receive(what, in.get(), process);
  const int status = exit_status(process);
  const bool whole = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !received.empty();
  const char kind = whole ? received.front() : '\0';
  if (kind == kResult) return received.erase(0, 1);
  if (kind == kRefused) throw DataError(received.substr(1));
  const std::string said = last_line(messages.get());
  throw DataError(fmt::format(
      "{}: its process ended by {}{}", what,
      WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : std::string("itself"),
      said.empty() ? "" : fmt::format(" ({})", said)));
}

}  // namespace dsf
