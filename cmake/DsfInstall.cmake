# cmake --install build --prefix P; afterwards find_package(dsf) gives dsf::dsf.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/dsf")

install(TARGETS dsf_lib EXPORT dsfTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET dsf_cli)
  install(TARGETS dsf_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
foreach(headers "${PROJECT_SOURCE_DIR}/dsf" "${DSF_GENERATED_DIR}/dsf")
  if(IS_DIRECTORY "${headers}")
    install(DIRECTORY "${headers}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/dsf"
            FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/configs")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs/"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/dsf/configs")
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
