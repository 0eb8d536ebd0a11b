# `cpack -G DEB` and `cpack -G RPM` in the build folder. Cores of both MPIs go into one package by
#     cpack -G DEB -D "CPACK_INSTALL_CMAKE_PROJECTS=$PWD/build/mpich;nodeaware;ALL;/;$PWD/build/openmpi;nodeaware;ALL;/"
set(CPACK_PACKAGE_NAME libnodeaware)
set(CPACK_PACKAGE_VENDOR "the libnodeaware authors")
# Whoever builds packages for others gives an address, by -D.
set(CPACK_PACKAGE_CONTACT "the libnodeaware authors <libnodeaware@packages.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
  "A library to be preloaded that makes MPI applications exchange irregular
messages in a node-aware way: the ranks of a node put their messages
together in shared memory, and a few larger ones travel between the nodes.
With the command nodeaware, which runs applications with it, and says
whether and why it helps.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_SOURCE_IGNORE_FILES /build/ "/[.]git(/|$)" /node_modules/)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/stage_package.cmake)
set(CPACK_NODEAWARE_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_NODEAWARE_CONTROL_DIR ${CMAKE_CURRENT_BINARY_DIR}/control)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_BINARY_DIR}/control/conffiles ${CMAKE_CURRENT_BINARY_DIR}/control/triggers)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/control/conffiles "/etc/nodeaware.conf\n")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/control/triggers "activate-noawait ldconfig\n")

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF) # for /etc
set(CPACK_RPM_PACKAGE_LICENSE BSD-3-Clause)
set(CPACK_RPM_PACKAGE_SUGGESTS "openmpi, mpich")
# The MPI is the application's; the programs of the package need one of them, too.
set(CPACK_RPM_SPEC_MORE_DEFINE "%global __requires_exclude ^libmpi(ch|_abi)?\\\\.so")
set(CPACK_RPM_USER_FILELIST "%config(noreplace) /etc/nodeaware.conf")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /etc /usr/share/man /usr/share/man/man1 /usr/share/man/man7 /usr/share/zsh /usr/share/zsh/site-functions
  /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/modulefiles
  /usr/lib/cmake /usr/lib/pkgconfig)

include(CPack)
