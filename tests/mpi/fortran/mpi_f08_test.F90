! Open MPI and MPICH through the module mpi_f08
program mpi_f08_test
  use mpi_f08
  implicit none
  type(MPI_Comm) :: graph
  type(MPI_Datatype) :: type
  type(MPI_Datatype), allocatable :: types(:)
#include "exchanges.inc"
end program mpi_f08_test
