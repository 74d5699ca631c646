# The native part of the Python package: python/native as one shared library, libdsf_native.so, that Python
# loads with ctypes. It holds the whole library and hands out the C functions of python/native/dsf_native.h.

file(GLOB dsf_native_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/native/*.cc")
add_library(dsf_native MODULE ${dsf_native_sources})
set_target_properties(dsf_native PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
dsf_target_defaults(dsf_native)
target_link_libraries(dsf_native PRIVATE dsf::dsf nlohmann_json::nlohmann_json)

# PyTorch has a protobuf and more of its own in the same process: only the C functions are seen.
set(dsf_native_symbols "${PROJECT_SOURCE_DIR}/python/native/exported_symbols.map")
target_link_options(dsf_native PRIVATE
  "LINKER:--version-script=${dsf_native_symbols}" LINKER:--no-undefined LINKER:--gc-sections)
set_target_properties(dsf_native PROPERTIES LINK_DEPENDS "${dsf_native_symbols}")

install(TARGETS dsf_native LIBRARY DESTINATION dsf COMPONENT python EXCLUDE_FROM_ALL)
