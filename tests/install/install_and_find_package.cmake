# Installs the build into a fresh prefix, then builds and runs the examples against it alone.

set(work "${BINARY_DIR}/tests/install")
set(prefix "${work}/prefix")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" --install "${BINARY_DIR}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -S "${SOURCE_DIR}/examples" -B "${work}/examples" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}")
run("${CMAKE_COMMAND}" --build "${work}/examples")
run("${work}/examples/language_model")
if(NOT output MATCHES "${VERSION}")
  message(FATAL_ERROR "language_model did not print version ${VERSION}:\n${output}")
endif()
foreach(example forecast own_feedback)  # they fail where the result is wrong
  run("${work}/examples/${example}")
endforeach()

# Every installed header can be included with what find_package(dsf) brings along.
file(GLOB_RECURSE headers RELATIVE "${prefix}/include" "${prefix}/include/dsf/*.h")
if(NOT headers)
  message(FATAL_ERROR "no headers under ${prefix}/include")
endif()
list(TRANSFORM headers PREPEND "#include \"")
list(TRANSFORM headers APPEND "\"")
list(JOIN headers "\n" includes)
file(WRITE "${work}/headers/main.cc" "${includes}\nint main() {}\n")
file(WRITE "${work}/headers/CMakeLists.txt" "
  cmake_minimum_required(VERSION 3.25)
  project(headers LANGUAGES CXX)
  find_package(dsf REQUIRED)
  add_executable(headers main.cc)
  target_link_libraries(headers PRIVATE dsf::dsf)")
run("${CMAKE_COMMAND}" -S "${work}/headers" -B "${work}/headers/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}")
run("${CMAKE_COMMAND}" --build "${work}/headers/build")

# Nothing in the prefix may lead back to the tree it was built from.
file(GLOB package_files "${prefix}/lib*/cmake/dsf/*.cmake" "${prefix}/lib/*/cmake/dsf/*.cmake")
if(NOT package_files)
  message(FATAL_ERROR "no package files under ${prefix}")
endif()
foreach(file IN LISTS package_files)
  file(READ "${file}" text)
  string(FIND "${text}" "${SOURCE_DIR}/" position)
  if(NOT position EQUAL -1)
    message(FATAL_ERROR "${file} names the source tree ${SOURCE_DIR}")
  endif()
endforeach()

if(EXISTS "${BINARY_DIR}/dsf")
  run("${prefix}/bin/dsf" --version)
endif()
