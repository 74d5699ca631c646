# dsf_target_defaults(<target>): the compile flags every target of this project is built with.

# AVX2 is the floor; Highway and libxsmm look for more at run time. Fast-math stays off: the forms
# of the diagonal scan are compared to rounding, and a NaN must stay a NaN.
set(DSF_MARCH_FLAG "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(DSF_MARCH_FLAG "-march=x86-64-v3")
endif()

# x86-64-v3 does not promise AES and PCLMUL. Unless told that nobody uses them, Highway would take
# SSSE3 as its floor and compile every kernel twice more.
set(DSF_HWY_DEFINITIONS HWY_DISABLE_PCLMUL_AES=1)

function(dsf_target_defaults target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    ${DSF_MARCH_FLAG} -Wall -Wextra -Wshadow -Wconversion)
  if(DSF_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # -Wrestrict misfires on std::string in GCC 12 (GCC bug 105651); -Wpsabi reports an ABI change
    # of GCC 4.6. The other three follow inlined code and are often wrong at -O3: seen, not fatal.
    target_compile_options(${target} PRIVATE
      -Wno-restrict -Wno-psabi
      -Wno-error=maybe-uninitialized -Wno-error=array-bounds -Wno-error=stringop-overflow)
  endif()
  if(DSF_SANITIZE)
    target_compile_options(${target} PRIVATE
      "-fsanitize=${DSF_SANITIZE}" -fno-omit-frame-pointer)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # instrumented code confuses this one completely
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
    if(DSF_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=undefined)
    endif()
    # PUBLIC: whoever links the static library must link the sanitizer's run time.
    target_link_options(${target} PUBLIC "-fsanitize=${DSF_SANITIZE}")
  endif()
endfunction()
