# What a user may choose. Tests and benchmarks are on by default where their library is installed.

find_package(GTest CONFIG QUIET)
find_package(benchmark CONFIG QUIET)

option(DSF_BUILD_PROGRAM "Build the program, dsf" ON)
option(DSF_BUILD_TESTS "Build the tests (needs GoogleTest)" "${GTest_FOUND}")
option(DSF_BUILD_BENCH "Build the kernel benchmarks (needs Google Benchmark)" "${benchmark_FOUND}")
option(DSF_BUILD_FUZZERS "Build the fuzz targets (needs clang; preset fuzz)" OFF)
option(DSF_WERROR "Treat compiler warnings as errors" OFF)
option(DSF_WITH_MPI "Train on several machines through MPI" OFF)
set(DSF_WITH_LIBXSMM AUTO CACHE STRING "Multiply matrices by libxsmm's kernels: ON, OFF, or AUTO if it is found")
set(DSF_WITH_ONNX AUTO CACHE STRING "Write models as ONNX files: ON, OFF, or AUTO if protobuf-c and onnx.proto are found")
set_property(CACHE DSF_WITH_LIBXSMM DSF_WITH_ONNX PROPERTY STRINGS AUTO ON OFF)
set(DSF_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined or thread")
