#include "dsf/base/interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace dsf {
namespace {

volatile std::sig_atomic_t stop_seen = 0;
volatile std::sig_atomic_t save_seen = 0;

// The signals that a guard takes over, and what was to happen at them before.
struct Caught {
  int signal;
  void (*previous)(int);
};
std::vector<Caught> caught;

void take_over(int signal, void (*handler)(int)) {
  caught.push_back({signal, std::signal(signal, handler)});
}

// Written by a signal handler, which may not format: a line break first, if the terminal has
// echoed ^C behind a live line.
const char* announcement = nullptr;
bool on_terminal = false;

void write_all(const char* text) {
  const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);  // a handler cannot do anything about it
}

void say_announcement() {
  if (announcement == nullptr) return;
  const int saved_errno = errno;
  if (on_terminal) write_all("\n");
  write_all(announcement);
  write_all("\n");
  errno = saved_errno;
}

extern "C" void note_stop(int signal) {
  if (stop_seen == 0) say_announcement();
  stop_seen = signal;
  std::signal(SIGINT, SIG_DFL);  // the next one is not caught any more
}

extern "C" void note_save(int /*signal*/) { save_seen = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_seen = 0;
  save_seen = 0;
  announcement = nullptr;
  take_over(SIGINT, note_stop);
  take_over(SIGTERM, note_stop);
  take_over(SIGHUP, note_stop);
  if (caught.back().previous == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  take_over(SIGUSR1, note_save);
}

InterruptGuard::~InterruptGuard() {
  for (const Caught& each : caught) std::signal(each.signal, each.previous);
  caught.clear();
}

void InterruptGuard::stop_on_broken_pipe() { take_over(SIGPIPE, note_stop); }

void InterruptGuard::announce(const char* text) {
  on_terminal = isatty(STDERR_FILENO) == 1;
  announcement = text;
}

int InterruptGuard::signal_seen() { return stop_seen; }

int InterruptGuard::next_request() {
  if (stop_seen != 0 || save_seen == 0) return stop_seen;
  save_seen = 0;
  return SIGUSR1;
}

}  // namespace dsf
