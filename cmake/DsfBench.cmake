# Each bench/<name>.cc is one Google Benchmark program, build/bench/<name>.

file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cc")
if(bench_sources)
  find_package(benchmark CONFIG REQUIRED)
endif()
foreach(source IN LISTS bench_sources)
  cmake_path(GET source STEM name)
  add_executable(bench_${name} "${source}")
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME "${name}"
                        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  dsf_target_defaults(bench_${name})
  # benchmark_main gives a main() to the files that do not have their own.
  target_link_libraries(bench_${name} PRIVATE dsf::dsf benchmark::benchmark
                        benchmark::benchmark_main)
endforeach()
