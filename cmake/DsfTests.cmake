# tests/<room>/*_test.cc become one program <room>_test; each of its tests is one CTest test.
#
# A test suite whose name ends in "Long" (TEST(TrainerLong, ...)) gets the label "long": `make test`
# leaves it out, `make check-long` runs it. A test finds the program in the environment variable
# DSF_CLI, and the source tree in the macro DSF_SOURCE_DIR.

find_package(GTest CONFIG REQUIRED)
include(GoogleTest)

set(DSF_ROOMS base kernels cells feedback layers model optim data dist run use train lab apps
    reliability)
set(long_suites "*Long.*:*Long/*")

# Slow scalar references and helpers, shared by all rooms.
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/tests/reference/*.cc" "${PROJECT_SOURCE_DIR}/tests/support/*.cc")
if(support_sources)
  add_library(dsf_test_support STATIC ${support_sources})
  dsf_target_defaults(dsf_test_support)
  set(support_scope PUBLIC)
else()
  add_library(dsf_test_support INTERFACE)
  set(support_scope INTERFACE)
endif()
target_link_libraries(dsf_test_support ${support_scope}
  dsf::dsf dsf_deps::hwy fmt::fmt nlohmann_json::nlohmann_json GTest::gtest GTest::gmock)
target_compile_definitions(dsf_test_support ${support_scope}
  ${DSF_HWY_DEFINITIONS} DSF_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# dsf_add_room_test(<room> [<library>...]): does nothing while tests/<room> has no *_test.cc.
function(dsf_add_room_test room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${room}/*_test.cc")
  if(NOT sources)
    return()
  endif()
  set(target ${room}_test)
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  dsf_target_defaults(${target})
  target_compile_options(${target} PRIVATE -O1)  # compiled more often than run: twice as fast
  target_compile_definitions(${target} PRIVATE DSF_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gmock GTest::gtest GTest::gtest_main)
  if(TARGET dsf_cli)
    add_dependencies(${target} dsf_cli)
  endif()

  set(environment "DSF_CLI=${PROJECT_BINARY_DIR}/dsf")
  gtest_discover_tests(${target}
    TEST_FILTER "-${long_suites}"
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${room}" TIMEOUT 300 ENVIRONMENT "${environment}")
  gtest_discover_tests(${target}
    TEST_FILTER "${long_suites}"
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "long" TIMEOUT 7200 ENVIRONMENT "${environment}")
endfunction()

foreach(room IN LISTS DSF_ROOMS)
  dsf_add_room_test(${room} dsf_test_support dsf_lab)
endforeach()

# The test of the ONNX files reads them with the classes that dsf writes them with.
if(DSF_BUILT_WITH_ONNX)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/use/onnx_export_test.cc" PROPERTIES
    COMPILE_DEFINITIONS DSF_HAVE_ONNX INCLUDE_DIRECTORIES "${DSF_ONNX_GENERATED_DIR}")
  target_link_libraries(use_test PRIVATE dsf_deps::protobuf_c)
endif()

# Needs none of the library, only a header of tests/support: it reads the sources as text.
dsf_add_room_test(layering)
target_include_directories(layering_test PRIVATE "${PROJECT_SOURCE_DIR}")

# The watch page in a real browser; skipped if there is none.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_Interpreter_FOUND AND TARGET dsf_cli)
  add_test(NAME watch_in_browser
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/browser/watch_in_browser.py"
      --dsf "$<TARGET_FILE:dsf_cli>")
  set_tests_properties(watch_in_browser PROPERTIES
    LABELS "browser" SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

add_test(NAME install_and_find_package
  COMMAND "${CMAKE_COMMAND}"
    -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    -D "BINARY_DIR=${PROJECT_BINARY_DIR}"
    -D "CXX_COMPILER=${CMAKE_CXX_COMPILER}"
    -D "GENERATOR=${CMAKE_GENERATOR}"
    -D "BUILD_TYPE=${CMAKE_BUILD_TYPE}"
    -D "VERSION=${PROJECT_VERSION}"
    -P "${PROJECT_SOURCE_DIR}/tests/install/install_and_find_package.cmake")
set_tests_properties(install_and_find_package PROPERTIES LABELS "install" TIMEOUT 600)

add_test(NAME first_messages
  COMMAND "${PROJECT_SOURCE_DIR}/tests/install/first_messages_test.sh"
    "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}")
set_tests_properties(first_messages PROPERTIES LABELS "install" TIMEOUT 120)
