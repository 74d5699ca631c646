# cmake --install build --prefix P; afterwards find_package(dsf) gives dsf::dsf.

include(CMakePackageConfigHelpers)
include(DsfPublicHeaders)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/dsf")

# Component dsf: the program and what belongs to it; component development: the library.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

install(TARGETS dsf_lib EXPORT dsfTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET dsf_cli)
  install(TARGETS dsf_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT dsf)
  # The program describes itself, at installation: manual page and completions.
  install(CODE "
    set(DSF_PROGRAM \"$<TARGET_FILE:dsf_cli>\")
    set(DSF_DATADIR \"${CMAKE_INSTALL_DATADIR}\")
    set(DSF_MANDIR \"${CMAKE_INSTALL_MANDIR}\")
    set(DSF_WORK \"${PROJECT_BINARY_DIR}/self_description\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/install_self_description.cmake\")" COMPONENT dsf)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/dsf"
        RENAME copyright COMPONENT dsf)
foreach(header IN LISTS DSF_PUBLIC_HEADERS DSF_SUPPORTING_HEADERS)
  cmake_path(GET header PARENT_PATH room)
  set(root "${PROJECT_SOURCE_DIR}")
  if(EXISTS "${DSF_GENERATED_DIR}/${header}")
    set(root "${DSF_GENERATED_DIR}")
  endif()
  install(FILES "${root}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${room}")
endforeach()
if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/configs")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs/"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/dsf/configs" COMPONENT dsf)
endif()

install(EXPORT dsfTargets NAMESPACE dsf:: DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/dsfConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/dsfConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/dsfConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/dsfConfig.cmake"
  "${PROJECT_BINARY_DIR}/dsfConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/DsfDependencies.cmake"
  DESTINATION "${package_dir}")
