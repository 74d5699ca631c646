#pragma once

// Programs under mpirun.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/program.h"

namespace dsf {

/// Why tests with several ranks cannot run here, or "".
std::string why_no_ranks();

#define DSF_NEEDS_RANKS() \
  if (const std::string why = ::dsf::why_no_ranks(); !why.empty()) GTEST_SKIP() << why

/// "mpirun -np N ... " and `command`.
std::vector<std::string> on_ranks(int ranks, std::vector<std::string> command);

/// Runs `dsf` with these arguments on several ranks.
ProgramResult run_dsf_on_ranks(int ranks, const std::vector<std::string>& arguments);

/// For a test that is to run on several ranks: true in the ranks. In the test program itself it
/// starts this very test under mpirun, expects it to pass there, and returns false.
bool inside_ranks(int ranks);

/// The process of a rank of a running mpirun; waits for it to appear.
int process_of_rank(int mpirun, int rank);

}  // namespace dsf
