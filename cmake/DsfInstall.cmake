# cmake --install build --prefix P; afterwards find_package(dsf) gives dsf::dsf.

include(CMakePackageConfigHelpers)

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
foreach(headers "${PROJECT_SOURCE_DIR}/dsf" "${DSF_GENERATED_DIR}/dsf")
  if(IS_DIRECTORY "${headers}")
    install(DIRECTORY "${headers}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/dsf"
            FILES_MATCHING PATTERN "*.h"
            # The inside of kernels needs Highway's headers, that of MPI mpi.h.
            PATTERN "*-inl.h" EXCLUDE PATTERN "mpi_*.h" EXCLUDE)
  endif()
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
