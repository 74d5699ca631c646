#pragma once

// Faults on demand, so that tests can show what happens when the system fails or the process dies.
// Asked for in the environment, which is read once; without it each call here is a load and a
// branch.
//
//   DSF_FAULT=CALL:K:ERROR   the K-th (from 1) CALL fails with ERROR.
//                            CALL: open, write, sync, rename, symlink, mkdir, or any of them
//                            ERROR: ENOSPC, EIO, EDQUOT, EACCES, EROFS; or short: a write takes
//                            half of its bytes, and from then on the disk is full
//   DSF_CRASH_AT=POINT:K     the process dies as by kill -9 at its K-th passage of POINT
//   DSF_CRASH_AT=list        each POINT is named on stderr when it is passed
//
// docs/reliability.md lists the points. They are for tests: a run needs neither variable.

#include <string_view>

namespace dsf {

/// What is to become of one system call.
struct Fault {
  int error = 0;             ///< errno to fail with; 0: none
  bool short_write = false;  ///< take half of the bytes
};

/// Counts one call of this name and says what is to become of it.
Fault next_fault(std::string_view call);

/// Dies here if that was asked for.
void crash_point(std::string_view name);

/// True if the process is to die here, for a caller that first leaves something half done.
bool crash_due(std::string_view name);
/// As kill -9.
[[noreturn]] void crash();

/// Takes the place of the two variables; "" asks for nothing. Throws UsageError for a text that is
/// not as above.
void plan_faults(std::string_view fault, std::string_view crash_at);

}  // namespace dsf
