#include "dsf/base/interrupt.h"

#include <csignal>

namespace dsf {
namespace {

volatile std::sig_atomic_t seen = 0;

using Handler = void (*)(int);
Handler previous_int = SIG_DFL;
Handler previous_term = SIG_DFL;

extern "C" void leave_a_note(int signal) {
  seen = signal;
  std::signal(SIGINT, SIG_DFL);  // the next one is not caught any more
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  seen = 0;
  previous_int = std::signal(SIGINT, leave_a_note);
  previous_term = std::signal(SIGTERM, leave_a_note);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, previous_int);
  std::signal(SIGTERM, previous_term);
}

int InterruptGuard::signal_seen() { return seen; }

}  // namespace dsf
