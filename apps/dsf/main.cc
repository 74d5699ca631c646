// Compiled for any x86-64, unlike everything else: it must be able to say that the CPU is too old.

#include <cstdio>

#include "apps/dsf/program.h"

int main(int argc, char** argv) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::fputs("error: dsf needs a CPU with AVX2 and FMA (2013 and later); this one has not both\n",
               stderr);
    return 1;
  }
#endif
  return dsf::run_program(argc, argv);
}
