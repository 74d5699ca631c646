# dsf_obstacle(<sentence>...): what stands in the way of building dsf on this machine.
#
# It ends the configuration, except if the native part of the Python package is to be built if it can be
# (DSF_BUILD_PYTHON=AUTO, as `pip install .` asks for). Then DSF_OBSTACLE keeps the first sentence, and the
# package does without.

include_guard()

set(DSF_BUILD_PYTHON OFF CACHE STRING
    "Build the native part of the Python package: ON, OFF, or AUTO if this machine can")
set_property(CACHE DSF_BUILD_PYTHON PROPERTY STRINGS AUTO ON OFF)

set(DSF_OBSTACLE "")
set(DSF_OBSTACLES_ARE_FATAL TRUE)
if(DSF_BUILD_PYTHON STREQUAL "AUTO")
  set(DSF_OBSTACLES_ARE_FATAL FALSE)
endif()

function(dsf_obstacle)
  set(sentence "")
  math(EXPR last "${ARGC} - 1")
  foreach(part RANGE ${last})  # not ARGN, which a semicolon would cut
    string(APPEND sentence "${ARGV${part}}")
  endforeach()
  if(DSF_OBSTACLES_ARE_FATAL)
    message(FATAL_ERROR "${sentence}")
  endif()
  if(NOT DSF_OBSTACLE)
    set(DSF_OBSTACLE "${sentence}" PARENT_SCOPE)
  endif()
endfunction()

# Enables C++, which project() does not because it would end the configuration without a compiler.
macro(dsf_enable_cxx)
  if(NOT DSF_OBSTACLES_ARE_FATAL)
    include(CheckLanguage)
    check_language(CXX)
  endif()
  if(DSF_OBSTACLES_ARE_FATAL OR CMAKE_CXX_COMPILER)
    enable_language(CXX)
  else()
    dsf_obstacle("no C++ compiler can be found (Debian package g++)")
  endif()
endmacro()
