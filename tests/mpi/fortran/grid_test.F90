! A Cartesian grid that may be renumbered (NODEAWARE_REORDER=cart), 4 x 4 on nodes of four ranks, from Fortran: GRID_F08 or the
! module mpi. Each node has a box of 2 x 2, and MPI_Cart_map answers alike.
program grid_test
#ifdef GRID_F08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: grid
#else
  use mpi
  implicit none
  integer :: grid
#endif
  integer :: error, world, ranks, rank, mapped, place, members(16), coords(2), failures, all_failures
  integer, parameter :: sizes(2) = [4, 4]
  logical :: periods(2)
  integer :: low(2), high(2)
  logical, parameter :: wanted(2) = [.true., .false.]
  logical :: got(2)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, world, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  failures = 0
  if (ranks /= 16) failures = 1
  periods = wanted
  call MPI_Cart_map(MPI_COMM_WORLD, 2, sizes, periods, mapped, error)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, .true., grid, error)
  if (error /= MPI_SUCCESS) failures = failures + 1
  call MPI_Comm_rank(grid, rank, error)
  if (rank /= mapped) failures = failures + 1
  call MPI_Cart_get(grid, 2, low, got, high, error)
  if (any(got .neqv. wanted)) failures = failures + 1
  call MPI_Allgather(world, 1, MPI_INTEGER, members, 1, MPI_INTEGER, grid, error)
  low = 4
  high = -1
  do place = 0, 15
    if (members(place + 1) / 4 /= world / 4) cycle
    call MPI_Cart_coords(grid, place, 2, coords, error)
    low = min(low, coords)
    high = max(high, coords)
  end do
  if (any(high - low /= 1)) failures = failures + 1
  call MPI_Comm_free(grid, error)
  ! One that may not be.
  call MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, .false., grid, error)
  call MPI_Comm_rank(grid, rank, error)
  if (rank /= world) failures = failures + 1
  call MPI_Comm_free(grid, error)
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
  if (all_failures /= 0) error stop 1
end program grid_test
