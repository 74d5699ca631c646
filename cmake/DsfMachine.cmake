# Says it if dsf cannot run on this machine. As a script:
#   cmake -D CMAKE_HOST_SYSTEM_PROCESSOR=x86_64 -D DSF_CPUINFO=FILE -P DsfMachine.cmake

include("${CMAKE_CURRENT_LIST_DIR}/DsfObstacle.cmake")

if(NOT CMAKE_CROSSCOMPILING)
  set(DSF_CPUINFO "/proc/cpuinfo" CACHE FILEPATH "The CPU's features, as Linux tells them")
  mark_as_advanced(DSF_CPUINFO)
  if(NOT CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    dsf_obstacle("dsf's kernels need an x86-64 CPU with AVX2 and FMA; this machine is "
                   "${CMAKE_HOST_SYSTEM_PROCESSOR}.")
  elseif(EXISTS "${DSF_CPUINFO}")
    file(STRINGS "${DSF_CPUINFO}" dsf_cpu_flags REGEX "^flags[ \t]*:" LIMIT_COUNT 1)
    foreach(feature avx2 fma)
      if(NOT "${dsf_cpu_flags} " MATCHES "[ :]${feature} ")
        dsf_obstacle("dsf needs a CPU with AVX2 and FMA (2013 and later); this one lacks "
                     "${feature}. To build for another machine, set CMAKE_SYSTEM_NAME "
                     "(a cross-compilation).")
      endif()
    endforeach()
  endif()
endif()
