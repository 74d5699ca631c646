// Compiled for any x86-64, unlike everything else: it must be able to say that the CPU is too old.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "apps/dsf/program.h"

namespace {

// If a standard stream is closed, the first file opened would take its place, and messages would
// end up in it.
void hold_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    if (open("/dev/null", O_RDWR) != stream) std::_Exit(1);  // the lowest free one is this
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::fputs("error: dsf needs a CPU with AVX2 and FMA (2013 and later); this one has not both\n",
               stderr);
    return 1;
  }
#endif
  return dsf::run_program(argc, argv);
}
