# Every library that dsf links to. Included by CMakeLists.txt and by the installed dsfConfig.cmake;
# both have set CMAKE_FIND_PACKAGE_NAME, which find_dependency() reads.

include(CMakeFindDependencyMacro)

find_dependency(Threads)
find_dependency(ZLIB)
find_dependency(fmt CONFIG)
find_dependency(spdlog CONFIG)
find_dependency(tomlplusplus CONFIG)
if(DSF_WITH_LAB)
  find_dependency(OpenMP COMPONENTS CXX)
endif()

# dsf_find_library_(<target> <what people call it> <Debian package> <header> <library>...)
#
# Makes the imported target dsf_deps::<target> from the header and the libraries themselves, because
# the package files beside them ask for more than is needed: kissfft's for a CMake older than 4,
# sentencepiece's for the headers of protobuf, oneDNN's for those of OpenCL.
macro(dsf_find_library_ target title package header)
  if(NOT TARGET dsf_deps::${target})
    set(dsf_missing_ "")
    find_path(DSF_${target}_INCLUDE_DIR NAMES "${header}" PATH_SUFFIXES ${target})
    mark_as_advanced(DSF_${target}_INCLUDE_DIR)
    if(NOT DSF_${target}_INCLUDE_DIR)
      list(APPEND dsf_missing_ "its header ${header}")
    endif()
    set(dsf_libraries_ "")
    foreach(dsf_library_ ${ARGN})
      find_library(DSF_${dsf_library_}_LIBRARY NAMES ${dsf_library_})
      mark_as_advanced(DSF_${dsf_library_}_LIBRARY)
      if(DSF_${dsf_library_}_LIBRARY)
        list(APPEND dsf_libraries_ "${DSF_${dsf_library_}_LIBRARY}")
      else()
        list(APPEND dsf_missing_ "its library lib${dsf_library_}")
      endif()
    endforeach()
    if(dsf_missing_)
      list(JOIN dsf_missing_ " and " dsf_missing_)
      list(APPEND dsf_not_found_ "${title}: ${dsf_missing_} cannot be found (Debian package ${package})")
    else()
      add_library(dsf_deps::${target} INTERFACE IMPORTED GLOBAL)
      set_target_properties(dsf_deps::${target} PROPERTIES
        INTERFACE_LINK_LIBRARIES "${dsf_libraries_}"
        INTERFACE_INCLUDE_DIRECTORIES "${DSF_${target}_INCLUDE_DIR}")
    endif()
  endif()
endmacro()

set(dsf_not_found_ "")
if(DSF_WITH_LAB)  # which is never installed
  dsf_find_library_(dnnl "oneDNN" libdnnl-dev oneapi/dnnl/dnnl.hpp dnnl)
endif()
dsf_find_library_(hwy "Highway" libhwy-dev hwy/highway.h hwy hwy_contrib)
dsf_find_library_(kissfft "KISS FFT" libkissfft-dev kiss_fft.h kissfft-float)
dsf_find_library_(sentencepiece "SentencePiece" libsentencepiece-dev sentencepiece_trainer.h
  sentencepiece sentencepiece_train)
dsf_find_library_(xxhash "xxHash" libxxhash-dev xxhash.h xxhash)
dsf_find_library_(eigen3 "Eigen" libeigen3-dev Eigen/QR)

# Newer SentencePiece headers use Abseil's, which their package may not bring along.
if(TARGET dsf_deps::sentencepiece)
  file(STRINGS "${DSF_sentencepiece_INCLUDE_DIR}/sentencepiece_processor.h" dsf_absl_header_
       REGEX "^#include [<\"]absl/" LIMIT_COUNT 1)
  if(dsf_absl_header_)
    find_package(absl CONFIG QUIET)
    if(TARGET absl::status)
      set_property(TARGET dsf_deps::sentencepiece APPEND PROPERTY
                   INTERFACE_LINK_LIBRARIES absl::status absl::string_view)
    else()
      list(APPEND dsf_not_found_ "SentencePiece is there, but its headers include Abseil's, which \
cannot be found (Debian package libabsl-dev)")
    endif()
  endif()
  unset(dsf_absl_header_)
endif()
if(dsf_not_found_)
  list(JOIN dsf_not_found_ "; " dsf_NOT_FOUND_MESSAGE)
  set(dsf_FOUND FALSE)
endif()
unset(dsf_not_found_)

# libxsmm, which generates kernels of matrix products: optional, and taken by what it offers. Later
# versions than 1.17 have other names for the same, and our own kernels do the work without it. For an
# installed dsf DSF_WITH_LIBXSMM is ON or OFF: its static library needs what it was built with.
if(DSF_WITH_LIBXSMM)
  find_path(DSF_XSMM_INCLUDE_DIR NAMES libxsmm.h)
  find_library(DSF_XSMM_LIBRARY NAMES xsmm)
  find_library(DSF_XSMM_NOBLAS_LIBRARY NAMES xsmmnoblas)
  mark_as_advanced(DSF_XSMM_INCLUDE_DIR DSF_XSMM_LIBRARY DSF_XSMM_NOBLAS_LIBRARY)
  set(dsf_xsmm_libraries_ "${DSF_XSMM_LIBRARY}" "${DSF_XSMM_NOBLAS_LIBRARY}" Threads::Threads
      ${CMAKE_DL_LIBS} m)
  if(DSF_XSMM_INCLUDE_DIR AND DSF_XSMM_LIBRARY AND DSF_XSMM_NOBLAS_LIBRARY)
    include(CheckCXXSourceCompiles)
    include(CMakePushCheckState)
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_INCLUDES "${DSF_XSMM_INCLUDE_DIR}")
    set(CMAKE_REQUIRED_LIBRARIES ${dsf_xsmm_libraries_})
    check_cxx_source_compiles("
      #include <libxsmm.h>
      int main() {
        libxsmm_set_target_archid(LIBXSMM_X86_AVX512_CPX);
        const int stride = 64, flags = LIBXSMM_GEMM_FLAG_VNNI_A, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
        const float one = 1.0F;
        libxsmm_bsmmfunction bf16 = libxsmm_bsmmdispatch(64, 64, 64, &stride, &stride, &stride,
                                                         &one, &one, &flags, &prefetch);
        libxsmm_smmfunction f32 = libxsmm_smmdispatch(64, 64, 64, &stride, &stride, &stride,
                                                      &one, &one, &flags, &prefetch);
        return bf16 != nullptr && f32 != nullptr ? 0 : 1;
      }" DSF_XSMM_HAS_DISPATCH)
    cmake_pop_check_state()
  endif()
  if(DSF_XSMM_HAS_DISPATCH)
    if(NOT TARGET dsf_deps::xsmm)
      add_library(dsf_deps::xsmm INTERFACE IMPORTED GLOBAL)
      set_target_properties(dsf_deps::xsmm PROPERTIES
        INTERFACE_LINK_LIBRARIES "${dsf_xsmm_libraries_}"
        INTERFACE_INCLUDE_DIRECTORIES "${DSF_XSMM_INCLUDE_DIR}")
    endif()
  elseif(NOT DSF_WITH_LIBXSMM STREQUAL "AUTO")
    set(dsf_FOUND FALSE)
    set(dsf_NOT_FOUND_MESSAGE "libxsmm 1.17 is missing (Debian package libxsmm-dev)")
  endif()
  unset(dsf_xsmm_libraries_)
endif()

# protobuf-c, which writes ONNX files: optional. For an installed dsf DSF_WITH_ONNX is ON or OFF, as
# above. The library is all that a program needs; what else the build needs is in DsfOnnx.cmake.
if(DSF_WITH_ONNX)
  find_library(DSF_PROTOBUF_C_LIBRARY NAMES protobuf-c)
  mark_as_advanced(DSF_PROTOBUF_C_LIBRARY)
  if(DSF_PROTOBUF_C_LIBRARY)
    if(NOT TARGET dsf_deps::protobuf_c)
      add_library(dsf_deps::protobuf_c INTERFACE IMPORTED GLOBAL)
      set_target_properties(dsf_deps::protobuf_c PROPERTIES
        INTERFACE_LINK_LIBRARIES "${DSF_PROTOBUF_C_LIBRARY}")
    endif()
  elseif(NOT DSF_WITH_ONNX STREQUAL "AUTO")
    set(dsf_FOUND FALSE)
    set(dsf_NOT_FOUND_MESSAGE "protobuf-c: its library libprotobuf-c cannot be found (Debian package \
libprotobuf-c-dev)")
  endif()
endif()

if(DSF_WITH_MPI)
  set(MPI_CXX_SKIP_MPICXX TRUE)  # the C++ bindings that MPI 3 removed
  find_dependency(MPI COMPONENTS CXX)
endif()

if(dsf_FIND_REQUIRED AND DEFINED dsf_FOUND AND NOT dsf_FOUND)
  message(FATAL_ERROR "dsf: ${dsf_NOT_FOUND_MESSAGE}. scripts/setup.sh installs what is missing; "
                      "docs/install.md names the packages of other systems.")
endif()
