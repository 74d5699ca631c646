#pragma once

namespace dsf {

/// While it lives, signals only leave notes, so that the work at hand can be finished and saved:
///
///   SIGINT, SIGTERM, SIGHUP   save and stop; a SIGINT after that ends the process at once
///   SIGUSR1                   save and go on
///
/// More SIGTERMs change nothing: timeout, batch systems and mpirun send them in pairs. A SIGHUP that
/// was ignored before (nohup) stays ignored.
///
/// One at a time in a process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Says `text`, a literal, on stderr as soon as a signal asks to stop: what is at hand may take a
  /// while.
  void announce(const char* text);
  /// A SIGPIPE asks to stop too: whoever read the progress has left, and the work is to be saved.
  void stop_on_broken_pipe();

  /// The signal that asks to stop, or 0.
  static int signal_seen();
  /// The same, and if none has come: SIGUSR1, once for each time it came.
  static int next_request();
};

}  // namespace dsf
