# dsf export --format onnx. The classes of the format are made by protobuf-c from ONNX's own
# onnx.proto, and dsf/use/onnx_file.cc alone sees them. Optional: sets DSF_BUILT_WITH_ONNX.

set(DSF_BUILT_WITH_ONNX OFF)
if(TARGET dsf_deps::protobuf_c)
  find_path(DSF_PROTOBUF_C_INCLUDE_DIR NAMES protobuf-c/protobuf-c.h)
  find_path(DSF_ONNX_PROTO_DIR NAMES onnx.proto PATH_SUFFIXES onnx)
  find_program(DSF_PROTOC NAMES protoc)
  find_program(DSF_PROTOC_GEN_C NAMES protoc-gen-c)
  mark_as_advanced(DSF_PROTOBUF_C_INCLUDE_DIR DSF_ONNX_PROTO_DIR DSF_PROTOC DSF_PROTOC_GEN_C)
  if(DSF_PROTOBUF_C_INCLUDE_DIR AND DSF_ONNX_PROTO_DIR AND DSF_PROTOC AND DSF_PROTOC_GEN_C)
    set(DSF_BUILT_WITH_ONNX ON)
  endif()
endif()

if(DSF_BUILT_WITH_ONNX)
  set(DSF_ONNX_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated/onnx")
  set(onnx_source "${DSF_ONNX_GENERATED_DIR}/onnx.pb-c.c")
  set(onnx_header "${DSF_ONNX_GENERATED_DIR}/onnx.pb-c.h")
  file(MAKE_DIRECTORY "${DSF_ONNX_GENERATED_DIR}")
  add_custom_command(OUTPUT "${onnx_source}" "${onnx_header}"
    COMMAND "${DSF_PROTOC}" "--plugin=protoc-gen-c=${DSF_PROTOC_GEN_C}"
      "--proto_path=${DSF_ONNX_PROTO_DIR}" "--c_out=${DSF_ONNX_GENERATED_DIR}" onnx.proto
    DEPENDS "${DSF_ONNX_PROTO_DIR}/onnx.proto"
    COMMENT "Making the classes of ONNX" VERBATIM)
  # What protobuf-c makes is C that is C++ too, and the project has no other need of a C compiler.
  set_source_files_properties("${onnx_source}" PROPERTIES LANGUAGE CXX)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/dsf/use/onnx_file.cc" PROPERTIES
                              COMPILE_DEFINITIONS DSF_HAVE_ONNX
                              INCLUDE_DIRECTORIES "${DSF_ONNX_GENERATED_DIR}"
                              OBJECT_DEPENDS "${onnx_header}")
  set_target_properties(dsf_deps::protobuf_c PROPERTIES
                        INTERFACE_INCLUDE_DIRECTORIES "${DSF_PROTOBUF_C_INCLUDE_DIR}")
  target_sources(dsf_lib PRIVATE "${onnx_source}")
  target_link_libraries(dsf_lib PRIVATE dsf_deps::protobuf_c)
elseif(DSF_WITH_ONNX AND NOT DSF_WITH_ONNX STREQUAL "AUTO")
  message(FATAL_ERROR "dsf: DSF_WITH_ONNX is ON, and protobuf-c with its header, protoc, protoc-gen-c and ONNX's onnx.proto "
                      "are not all there (Debian packages libprotobuf-c-dev, protobuf-compiler, protobuf-c-compiler and libonnx-dev).")
endif()
