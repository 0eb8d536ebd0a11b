! Open MPI and MPICH through mpif.h
program mpif_test
  implicit none
  include 'mpif.h'
  integer :: graph, type
  integer, allocatable :: types(:)
#include "exchanges.inc"
end program mpif_test
