# cmake -D SOURCE_DIR= -D OUTPUT= -D GIT= ... -P write_version.cmake

set(GIT_COMMIT "unknown")
if(GIT AND EXISTS "${SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT}" rev-parse --short=12 HEAD
    WORKING_DIRECTORY "${SOURCE_DIR}"
    RESULT_VARIABLE result OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(result EQUAL 0)
    set(GIT_COMMIT "${commit}")
    execute_process(COMMAND "${GIT}" diff --quiet HEAD --
      WORKING_DIRECTORY "${SOURCE_DIR}" RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(NOT result EQUAL 0)
      string(APPEND GIT_COMMIT "-dirty")
    endif()
  endif()
endif()

if(SANITIZE)
  string(APPEND BUILD_TYPE " (${SANITIZE})")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.cc.in" "${OUTPUT}" @ONLY)
