! Open MPI and MPICH through mpif.h
program mpif_test
  implicit none
  include 'mpif.h'
#ifdef REQUESTS
  integer :: comm, graph, requests(21), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 21)
  integer, allocatable :: types(:)
#include "requests.inc"
#else
  integer :: graph, type
  integer, allocatable :: types(:)
#include "exchanges.inc"
#endif
end program mpif_test
