#pragma once

namespace dsf {

/// Parses the command line, runs the subcommand, turns errors into one message on stderr.
/// Returns the exit code: 0 done, 1 failed while working, 2 wrong use or wrong input.
int run_program(int argc, char** argv);

}  // namespace dsf
