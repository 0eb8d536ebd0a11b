! Open MPI and MPICH through the module mpi
program use_mpi_test
  use mpi
  implicit none
#ifdef REQUESTS
  integer :: comm, graph, requests(21), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 21)
  integer, allocatable :: types(:)
#include "requests.inc"
#elif defined MESSAGES
#define statuses_of(which) statuses(:, which)
#define status_source status(MPI_SOURCE)
#define status_tag status(MPI_TAG)
  integer :: requests(5), message, status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 5)
#include "messages.inc"
#else
  integer :: graph, type, file, status(MPI_STATUS_SIZE)
  integer, allocatable :: types(:)
#include "exchanges.inc"
#endif
end program use_mpi_test
