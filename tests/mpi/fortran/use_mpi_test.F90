! Open MPI and MPICH through the module mpi
program use_mpi_test
  use mpi
  implicit none
  integer :: graph, type
  integer, allocatable :: types(:)
#include "exchanges.inc"
end program use_mpi_test
