#include "dsf/base/interrupt.h"

#include <csignal>

namespace dsf {
namespace {

volatile std::sig_atomic_t stop_seen = 0;
volatile std::sig_atomic_t save_seen = 0;

using Handler = void (*)(int);
Handler previous_int = SIG_DFL;
Handler previous_term = SIG_DFL;
Handler previous_usr1 = SIG_DFL;

extern "C" void note_stop(int signal) {
  stop_seen = signal;
  std::signal(SIGINT, SIG_DFL);  // the next one is not caught any more
}

extern "C" void note_save(int /*signal*/) { save_seen = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_seen = 0;
  save_seen = 0;
  previous_int = std::signal(SIGINT, note_stop);
  previous_term = std::signal(SIGTERM, note_stop);
  previous_usr1 = std::signal(SIGUSR1, note_save);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, previous_int);
  std::signal(SIGTERM, previous_term);
  std::signal(SIGUSR1, previous_usr1);
}

int InterruptGuard::signal_seen() { return stop_seen; }

int InterruptGuard::next_request() {
  if (stop_seen != 0 || save_seen == 0) return stop_seen;
  save_seen = 0;
  return SIGUSR1;
}

}  // namespace dsf
