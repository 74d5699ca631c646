# The Python package without its native part: the target has nothing to build, and a file in the package says
# why, because pip shows nobody the warnings of a build that succeeds.

string(REGEX REPLACE "\\.$" "" DSF_OBSTACLE "${DSF_OBSTACLE}")
message(WARNING "The Python package is built without its native part: ${DSF_OBSTACLE}. dsf.nn will work through "
                "PyTorch operations. scripts/setup.sh installs what is missing on Debian; "
                "docs/install.md names the packages of other systems.")
file(WRITE "${PROJECT_BINARY_DIR}/native_missing.txt" "${DSF_OBSTACLE}\n")
install(FILES "${PROJECT_BINARY_DIR}/native_missing.txt" DESTINATION dsf COMPONENT python EXCLUDE_FROM_ALL)
add_custom_target(dsf_native)
