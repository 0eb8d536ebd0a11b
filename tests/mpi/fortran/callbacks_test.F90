! Functions of a Fortran program that MPI calls, as MPI calls those of Fortran.
module callbacks
  use mpi
  implicit none
  integer(kind=MPI_ADDRESS_KIND), parameter :: own_state = 12345
  integer :: freed = 0, handled = 0, wrong = 0
contains
  subroutine query(state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: status(MPI_STATUS_SIZE), ierror
    if (state /= own_state) wrong = wrong + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, 0, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = MPI_UNDEFINED
    status(MPI_TAG) = MPI_UNDEFINED
    ierror = MPI_SUCCESS
  end subroutine
  subroutine release(state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: ierror
    if (state /= own_state) wrong = wrong + 1
    freed = freed + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    logical :: complete
    integer :: ierror
    if (state /= own_state) wrong = wrong + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle(comm, code)
    integer :: comm, code
    if (comm /= MPI_COMM_WORLD .or. code == MPI_SUCCESS) wrong = wrong + 1
    handled = handled + 1
  end subroutine
end module

program callbacks_test
  use callbacks
  implicit none
  integer :: ierror, request, handler
  integer :: nothing(1) = 0
  integer(kind=MPI_ADDRESS_KIND) :: state = own_state
  call MPI_Init(ierror)
  call MPI_Grequest_start(query, release, cancel, state, request, ierror)
  call MPI_Cancel(request, ierror)
  call MPI_Grequest_complete(request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Comm_create_errhandler(handle, handler, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
  call MPI_Send(nothing, -1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
  if (wrong /= 0 .or. freed /= 1 .or. handled /= 1) then
    print *, 'FAILED: wrong', wrong, 'freed', freed, 'handled', handled
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end if
  call MPI_Finalize(ierror)
end program
