! Open MPI and MPICH through the module mpi
program use_mpi_test
  use mpi
  implicit none
#ifdef REQUESTS
  integer :: comm, graph, requests(21), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 21)
  integer, allocatable :: types(:)
#include "requests.inc"
#else
  integer :: graph, type
  integer, allocatable :: types(:)
#include "exchanges.inc"
#endif
end program use_mpi_test
