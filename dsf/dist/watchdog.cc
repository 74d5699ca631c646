#include "dsf/dist/watchdog.h"

#include <fmt/format.h>

#include <algorithm>

namespace dsf {

Watchdog::Watchdog(int rank, int size, double patience)
    : rank_(rank), before_((rank + size - 1) % size), patience_(patience) {}

void Watchdog::hear(const Pulse& pulse) {
  heard_ = pulse;
  silence_ = 0.0;
}

std::optional<std::string> Watchdog::look(double elapsed, const OwnProgress& own) {
  const double seconds = std::min(elapsed, kLongestLook);
  silence_ += seconds;
  const bool late = heard_.begun > own.submitted && !own.excused;
  lateness_ = late ? lateness_ + seconds : 0.0;
  if (silence_ > patience_) {
    return fmt::format(
        "rank {} has given no sign of life for {:.0f} s: its process is stopped or its machine is "
        "gone",
        before_, silence_);
  }
  if (lateness_ > patience_) {
    return fmt::format(
        "rank {} hangs: rank {} has been waiting for it for {:.0f} s (train.watchdog_seconds sets "
        "how long it may)",
        rank_, before_, lateness_);
  }
  return std::nullopt;
}

}  // namespace dsf
