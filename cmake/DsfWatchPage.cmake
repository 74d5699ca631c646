# The files of the page that `dsf watch` serves, as one C++ source: DSF_WATCH_PAGE_SOURCE.

file(GLOB watch_page_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/apps/dsf/watch/page/*")
set(DSF_WATCH_PAGE_SOURCE "${DSF_GENERATED_DIR}/watch_assets.cc")
add_custom_command(
  OUTPUT "${DSF_WATCH_PAGE_SOURCE}"
  COMMAND "${CMAKE_COMMAND}"
    -D "OUTPUT=${DSF_WATCH_PAGE_SOURCE}" -D "FILES=${watch_page_files}"
    -P "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
  DEPENDS ${watch_page_files} "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake"
  COMMENT "Embedding the watch page"
  VERBATIM)
