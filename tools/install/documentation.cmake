# What the command writes of itself: manual pages, completions, an example configuration. And the modulefile.
set(documentation ${CMAKE_CURRENT_BINARY_DIR}/documentation)
set(written nodeaware.1 libnodeaware.7 nodeaware.bash _nodeaware nodeaware.conf)
list(TRANSFORM written PREPEND ${documentation}/)
add_custom_command(OUTPUT ${written}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${documentation}
  COMMAND nodeaware_command documentation ${documentation}
  DEPENDS nodeaware_command
  COMMENT "Manual pages and completions" VERBATIM)
add_custom_target(nodeaware_documentation ALL DEPENDS ${written})

install(FILES ${documentation}/nodeaware.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# The command of each MPI has the same page.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/nodeaware-mpi.1 ".so man1/nodeaware.1\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/nodeaware-mpi.1 RENAME nodeaware-${NODEAWARE_MPI_NAME}.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${documentation}/libnodeaware.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
install(FILES ${documentation}/nodeaware.bash RENAME nodeaware
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
install(FILES ${documentation}/_nodeaware DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions)

# What a site has written into its configuration stays.
install(CODE "
  set(etc \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_SYSCONFDIR}\")
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(etc /etc)
  endif()
  if(NOT EXISTS \"\$ENV{DESTDIR}\${etc}/nodeaware.conf\")
    file(INSTALL \"${documentation}/nodeaware.conf\" DESTINATION \"\${etc}\")
  endif()")

set(modulefiles ${CMAKE_INSTALL_DATAROOTDIR}/modulefiles)
file(RELATIVE_PATH up_from_modulefiles ${CMAKE_INSTALL_PREFIX}/${modulefiles} ${CMAKE_INSTALL_PREFIX})
configure_file(nodeaware.modulefile.in modulefile @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/modulefile RENAME nodeaware DESTINATION ${modulefiles})
