# Generates "dsf/base/version.h" at configure time, and version.cc on each build, because the git
# commit changes without CMake running again. It is rewritten only when its content differs.

set(DSF_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in"
               "${DSF_GENERATED_DIR}/dsf/base/version.h" @ONLY)

set(dsf_features "$<IF:$<BOOL:${DSF_WITH_MPI}>,MPI,no MPI>")
if(DSF_MARCH_FLAG)
  string(REPLACE "-march=" "" dsf_floor "${DSF_MARCH_FLAG}")
  string(PREPEND dsf_features "${dsf_floor} and newer, ")
endif()

find_package(Git QUIET)
set(dsf_write_version
  "${CMAKE_COMMAND}"
  -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}"
  -D "OUTPUT=${DSF_GENERATED_DIR}/version.cc"
  -D "GIT=${GIT_EXECUTABLE}"
  -D "PROJECT_VERSION=${PROJECT_VERSION}"
  -D "BUILD_TYPE=${CMAKE_BUILD_TYPE}"
  -D "SANITIZE=${DSF_SANITIZE}"
  -D "FEATURES=${dsf_features}"
  -D "COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
  -P "${PROJECT_SOURCE_DIR}/cmake/write_version.cmake")
add_custom_target(dsf_version
  COMMAND ${dsf_write_version}
  BYPRODUCTS "${DSF_GENERATED_DIR}/version.cc"
  COMMENT "Checking the version"
  VERBATIM)
