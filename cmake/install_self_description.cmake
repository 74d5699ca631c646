# Run by the installation: has the program write its manual page and completions, and installs them.

function(write_and_install directory name)
  execute_process(COMMAND "${DSF_PROGRAM}" ${ARGN}
    OUTPUT_FILE "${DSF_WORK}/${name}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${DSF_PROGRAM} ${ARGN} failed (${result})")
  endif()
  if(NOT IS_ABSOLUTE "${directory}")
    set(directory "${CMAKE_INSTALL_PREFIX}/${directory}")
  endif()
  file(INSTALL DESTINATION "${directory}" TYPE FILE FILES "${DSF_WORK}/${name}")
endfunction()

file(MAKE_DIRECTORY "${DSF_WORK}")
write_and_install("${DSF_MANDIR}/man1" dsf.1 man)
write_and_install("${DSF_DATADIR}/bash-completion/completions" dsf completion bash)
# Debian's zsh looks for a package's functions in another place than for the machine's own.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_directory vendor-completions)
else()
  set(zsh_directory site-functions)
endif()
write_and_install("${DSF_DATADIR}/zsh/${zsh_directory}" _dsf completion zsh)
