# dsf_deps::httplib: the HTTP server of `dsf watch`. Some systems have cpp-httplib as one header,
# others as a compiled library whose classes depend on the options it was built with: its pkg-config
# file has those. With TLS among them, code in the header calls OpenSSL by itself.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(DSF_HTTPLIB QUIET IMPORTED_TARGET cpp-httplib)
endif()

add_library(dsf_deps::httplib INTERFACE IMPORTED)
if(DSF_HTTPLIB_FOUND)
  target_link_libraries(dsf_deps::httplib INTERFACE PkgConfig::DSF_HTTPLIB)
  if("${DSF_HTTPLIB_CFLAGS}" MATCHES "CPPHTTPLIB_OPENSSL_SUPPORT")
    find_package(OpenSSL REQUIRED)
    target_link_libraries(dsf_deps::httplib INTERFACE OpenSSL::SSL OpenSSL::Crypto)
  endif()
else()
  find_path(DSF_HTTPLIB_INCLUDE_DIR NAMES httplib.h)
  mark_as_advanced(DSF_HTTPLIB_INCLUDE_DIR)
  if(NOT DSF_HTTPLIB_INCLUDE_DIR)
    message(FATAL_ERROR "dsf: cpp-httplib: its header httplib.h cannot be found (Debian package "
                        "libcpp-httplib-dev). scripts/setup.sh installs what is missing; "
                        "docs/install.md names the packages of other systems.")
  endif()
  target_include_directories(dsf_deps::httplib INTERFACE "${DSF_HTTPLIB_INCLUDE_DIR}")
endif()
