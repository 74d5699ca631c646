# Every library that dsf links to. Included by CMakeLists.txt and by the installed dsfConfig.cmake;
# both have set CMAKE_FIND_PACKAGE_NAME, which find_dependency() reads.

include(CMakeFindDependencyMacro)

find_dependency(Threads)
find_dependency(ZLIB)
find_dependency(fmt CONFIG)
find_dependency(spdlog CONFIG)
find_dependency(nlohmann_json CONFIG)
find_dependency(tomlplusplus CONFIG)
find_dependency(OpenMP COMPONENTS CXX)
find_dependency(kissfft CONFIG COMPONENTS SHARED)
find_dependency(PkgConfig)

foreach(dsf_module_ "HWY;libhwy;libhwy-contrib" "SENTENCEPIECE;sentencepiece" "XXHASH;libxxhash")
  list(POP_FRONT dsf_module_ dsf_prefix_)
  if(NOT TARGET PkgConfig::DSF_${dsf_prefix_})
    pkg_check_modules(DSF_${dsf_prefix_} QUIET IMPORTED_TARGET GLOBAL ${dsf_module_})
  endif()
  if(NOT TARGET PkgConfig::DSF_${dsf_prefix_})
    list(JOIN dsf_module_ ", " dsf_names_)
    set(dsf_FOUND FALSE)
    set(dsf_NOT_FOUND_MESSAGE "pkg-config does not know ${dsf_names_}")
  endif()
endforeach()
unset(dsf_module_)
unset(dsf_prefix_)

# oneDNN 2 or 3. Not through its own package file: Debian's asks for the OpenCL headers, which
# nothing here uses.
find_path(DSF_DNNL_INCLUDE_DIR NAMES oneapi/dnnl/dnnl.hpp)
find_library(DSF_DNNL_LIBRARY NAMES dnnl)
mark_as_advanced(DSF_DNNL_INCLUDE_DIR DSF_DNNL_LIBRARY)
if(DSF_DNNL_INCLUDE_DIR AND DSF_DNNL_LIBRARY)
  if(NOT TARGET dsf_deps::dnnl)
    add_library(dsf_deps::dnnl UNKNOWN IMPORTED GLOBAL)
    set_target_properties(dsf_deps::dnnl PROPERTIES
      IMPORTED_LOCATION "${DSF_DNNL_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${DSF_DNNL_INCLUDE_DIR}")
  endif()
else()
  set(dsf_FOUND FALSE)
  set(dsf_NOT_FOUND_MESSAGE "oneDNN is missing (Debian package libdnnl-dev)")
endif()

# libxsmm, which generates kernels of matrix products: optional, and taken by what it offers. Later
# versions than 1.17 have other names for the same, and oneDNN does the work without it. For an
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

# The OpenMP run time without its compile flag, which only kernels/gemm*.cc gets.
if(NOT TARGET dsf_deps::openmp)
  add_library(dsf_deps::openmp INTERFACE IMPORTED GLOBAL)
  set_target_properties(dsf_deps::openmp PROPERTIES
    INTERFACE_LINK_LIBRARIES "${OpenMP_CXX_LIBRARIES}"
    INTERFACE_INCLUDE_DIRECTORIES "${OpenMP_CXX_INCLUDE_DIRS}")
endif()

if(DSF_WITH_MPI)
  set(MPI_CXX_SKIP_MPICXX TRUE)  # the C++ bindings that MPI 3 removed
  find_dependency(MPI COMPONENTS CXX)
endif()

if(dsf_FIND_REQUIRED AND DEFINED dsf_FOUND AND NOT dsf_FOUND)
  message(FATAL_ERROR "dsf: ${dsf_NOT_FOUND_MESSAGE}. scripts/setup.sh installs what is missing.")
endif()
