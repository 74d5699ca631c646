#pragma once

namespace dsf {

/// While it lives, the first SIGINT or SIGTERM only leaves a note, so that the work at hand can be
/// finished and saved; a second one ends the process at once. One at a time in a process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// The signal that arrived, or 0.
  static int signal_seen();
};

}  // namespace dsf
