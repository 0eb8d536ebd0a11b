#pragma once

#include <mpi.h>
#if defined(OPEN_MPI)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

// Persistent collectives are of MPI 4; Open MPI 4 has them as an extension.
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define NODEAWARE_TEST_PERSISTENT(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define NODEAWARE_TEST_PERSISTENT(name) MPIX_##name##_init
#define NODEAWARE_TEST_PERSISTENT_IS_EXTENSION
#endif
