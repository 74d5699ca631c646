# tests/fuzz/fuzz_<name>.cc is a fuzz target. With DSF_BUILD_FUZZERS (clang only) it becomes
# build-fuzz/fuzz/fuzz_<name>, run by scripts/fuzz.sh; with DSF_BUILD_TESTS a test fuzz_<name> that
# replays tests/fuzz/seeds/<name> and some mutations of them.

file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.cc")

if(DSF_BUILD_FUZZERS AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "DSF_BUILD_FUZZERS needs clang (cmake --preset fuzz), "
                      "not ${CMAKE_CXX_COMPILER_ID}")
endif()

if(DSF_BUILD_TESTS)
  add_library(dsf_replay OBJECT "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cc")
  dsf_target_defaults(dsf_replay)
  target_link_libraries(dsf_replay PUBLIC dsf::dsf PRIVATE fmt::fmt)
endif()

if(DSF_BUILD_FUZZERS)
  add_custom_target(fuzzers)
endif()

foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM target)
  string(REPLACE "fuzz_" "" name "${target}")
  if(DSF_BUILD_FUZZERS)
    add_executable(${target} "${source}")
    set_target_properties(${target} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
    dsf_target_defaults(${target})
    target_link_libraries(${target} PRIVATE dsf_lab dsf::dsf)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${target})
  endif()
  if(DSF_BUILD_TESTS)
    add_executable(replay_${name} "${source}")
    set_target_properties(replay_${name} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    dsf_target_defaults(replay_${name})
    target_compile_options(replay_${name} PRIVATE -O1)
    target_link_libraries(replay_${name} PRIVATE dsf_replay dsf_lab dsf::dsf)
    add_test(NAME ${target}
             COMMAND replay_${name} 2000 "${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/${name}")
    set_tests_properties(${target} PROPERTIES LABELS "fuzz" TIMEOUT 300)
  endif()
endforeach()
