#pragma once

// Finds the rank that holds all others up, without asking it.
//
// The ranks stand in a ring. Each tells the next one, a few times a second, how far it is: a pulse.
// A process that is stopped, or a machine that is gone, sends none: the next rank names it. A
// process that lives but does not come to an operation at which others wait gets pulses from a rank
// that is ahead of it: it names itself. Wherever at least one rank waits and one is late, there is
// a late one right behind a waiting one.
//
// Time is counted in the watcher's own looks, each for at most kLongestLook: a job that was
// suspended as a whole and goes on later accuses nobody.

#include <cstdint>
#include <optional>
#include <string>

namespace dsf {

/// What a rank tells the next one.
struct Pulse {
  std::int64_t begun = 0;  ///< operations its communication thread has begun
  std::int64_t last = 0;   ///< 1: there will be no more
};

/// What a rank knows of itself when it looks.
struct OwnProgress {
  std::int64_t submitted = 0;  ///< operations it has handed in
  bool excused = false;        ///< it may take its time
};

/// Judges one rank's neighbourhood from pulses and its own progress; sends nothing and starts no
/// thread. MpiEngine owns one and calls it on the communication thread.
class Watchdog {
 public:
  static constexpr double kLongestLook = 1.0;

  Watchdog(int rank, int size, double patience);

  void hear(const Pulse& pulse);
  /// `elapsed` seconds after the last look: who holds the job up, or nothing.
  std::optional<std::string> look(double elapsed, const OwnProgress& own);

 private:
  int rank_;
  int before_;
  double patience_;
  Pulse heard_;
  double silence_ = 0.0;   // seconds without a pulse
  double lateness_ = 0.0;  // seconds the rank before has been waiting for this one
};

}  // namespace dsf
