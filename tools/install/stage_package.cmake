# What distributions want otherwise than `cmake --install` leaves it. CPack runs this before it makes a package.
cmake_minimum_required(VERSION 3.25)
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
if(NOT CPACK_GENERATOR MATCHES "DEB|RPM" OR NOT IS_DIRECTORY ${root}/usr)
  return()
endif()

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(GLOB pages ${root}/usr/share/man/man*/*.[0-9])
if(pages)
  run(gzip -9nf ${pages})
endif()

if(CPACK_GENERATOR STREQUAL DEB)
  set(documents ${root}/usr/share/doc/${CPACK_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${documents})
  file(RENAME ${root}/usr/share/doc/nodeaware/LICENSE ${documents}/copyright)
  file(COPY_FILE ${CPACK_NODEAWARE_SOURCE_DIR}/CHANGELOG.md ${documents}/changelog)
  string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${documents}/changelog.Debian
    "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * Built by CPack; what has changed is in changelog.gz.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  run(gzip -9nf ${documents}/changelog ${documents}/changelog.Debian)
  # Debian's zsh looks into no other folder below /usr/share.
  file(MAKE_DIRECTORY ${root}/usr/share/zsh/vendor-completions)
  file(RENAME ${root}/usr/share/zsh/site-functions/_nodeaware ${root}/usr/share/zsh/vendor-completions/_nodeaware)
  file(REMOVE_RECURSE ${root}/usr/share/zsh/site-functions)

  # What binaries need, by Debian's own means. The MPI is the application's, which the library uses and does not
  # bring: only the programs of the package are linked with one.
  file(GLOB binaries ${root}/usr/bin/*-* ${root}/usr/lib/libnodeaware*.so ${root}/usr/lib/*/libnodeaware*.so)
  set(control ${CPACK_NODEAWARE_CONTROL_DIR}/shlibs)
  file(MAKE_DIRECTORY ${control}/debian)
  file(WRITE ${control}/debian/control "Source: ${CPACK_PACKAGE_NAME}\nPackage: ${CPACK_PACKAGE_NAME}\nArchitecture: any\n")
  execute_process(COMMAND dpkg-shlibdeps -O --ignore-missing-info ${binaries} WORKING_DIRECTORY ${control}
    OUTPUT_VARIABLE needed ERROR_VARIABLE said RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "dpkg-shlibdeps: ${status}\n${said}")
  endif()
  string(REGEX REPLACE "^.*shlibs:Depends=" "" needed "${needed}")
  string(REPLACE ", " ";" needed "${needed}")
  set(mpi ${needed})
  list(FILTER needed EXCLUDE REGEX "^lib(open)?mpi")
  list(FILTER mpi INCLUDE REGEX "^lib(open)?mpi")
  list(JOIN needed ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
  list(JOIN mpi " | " CPACK_DEBIAN_PACKAGE_RECOMMENDS)
  if(mpi) # Debian's own, which is found without help
    file(GLOB programs ${root}/usr/bin/*-*)
    foreach(program IN LISTS programs)
      file(RPATH_REMOVE FILE ${program})
    endforeach()
  endif()
endif()
