# cpack --config build/CPackConfig.cmake makes build/dsf_VERSION_ARCH.deb: the program, its manual
# page, completions and configurations. What it depends on is read off the program itself.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dsf)
set(CPACK_PACKAGE_CONTACT "The dsf developers <dsf@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL dsf)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_DSF_PACKAGE_NAME dsf)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_DSF_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DSF_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)  # dsf plot, dsf demo
set(CPACK_DEBIAN_PACKAGE_SUGGESTS jargon-text)    # the text of dsf demo
include(CPack)
