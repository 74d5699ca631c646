# Installs the build into a fresh prefix, then builds and runs the examples against it alone.

set(work "${BINARY_DIR}/tests/install")
set(prefix "${work}/prefix")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${work}"
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
foreach(example forecast own_feedback train_and_generate)  # they fail if the result is wrong
  run("${work}/examples/${example}")
endforeach()

# The public headers and no others are there, and each compiles alone with what find_package(dsf)
# brings along.
include("${SOURCE_DIR}/cmake/DsfPublicHeaders.cmake")
file(GLOB_RECURSE installed RELATIVE "${prefix}/include" "${prefix}/include/*")
set(headers ${DSF_PUBLIC_HEADERS} ${DSF_SUPPORTING_HEADERS})
list(SORT headers)
list(SORT installed)
if(NOT installed STREQUAL headers)
  message(FATAL_ERROR "the installed headers are\n${installed}\nand should be\n${headers}")
endif()
set(sources "")
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER "${header}" name)
  file(WRITE "${work}/headers/${name}.cc" "#include \"${header}\"\n")
  list(APPEND sources "${name}.cc")
endforeach()
list(JOIN sources " " sources)
file(WRITE "${work}/headers/CMakeLists.txt" "
  cmake_minimum_required(VERSION 3.25)
  project(headers LANGUAGES CXX)
  find_package(dsf REQUIRED)
  add_library(headers OBJECT ${sources})
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
