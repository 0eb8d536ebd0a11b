! Open MPI and MPICH through the module mpi_f08
program mpi_f08_test
  use mpi_f08
#ifdef PERSISTENT_IS_EXTENSION
  use mpi_f08_ext
#endif
  implicit none
#ifdef REQUESTS
#define ERROR_IS_OPTIONAL
  type(MPI_Comm) :: comm, graph
  type(MPI_Request) :: requests(21)
  type(MPI_Status) :: status, statuses(21)
  type(MPI_Datatype), allocatable :: types(:)
#include "requests.inc"
#elif defined MESSAGES
#define ERROR_IS_OPTIONAL
#define statuses_of(which) statuses(which)
#define status_source status%MPI_SOURCE
#define status_tag status%MPI_TAG
  type(MPI_Request) :: requests(5)
  type(MPI_Message) :: message
  type(MPI_Status) :: status, statuses(5)
#include "messages.inc"
#else
  type(MPI_Comm) :: graph
  type(MPI_Datatype) :: type
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Datatype), allocatable :: types(:)
#include "exchanges.inc"
#endif
end program mpi_f08_test
