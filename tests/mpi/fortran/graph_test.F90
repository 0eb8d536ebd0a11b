! Distributed graphs from Fortran, GRAPH_F08 or the module mpi: with weights, without, and of nothing. Each rank has edges to the
! next one and to the one behind that.
program graph_test
#ifdef GRAPH_F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer :: error, rank, ranks, failures, all_failures
  integer :: sources(1), degrees(1), destinations(2), weights(2)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  failures = 0
  sources = rank
  degrees = 2
  destinations = [modulo(rank + 1, ranks), modulo(rank + 2, ranks)]
  weights = [rank, 1000 * rank]
  call check('weights', 1, weights, .true.)
  call check_unweighted()
  call check_empty()
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
  if (all_failures /= 0) error stop 1

contains

  subroutine check(name, nodes, given, has_weights)
    character(*), intent(in) :: name
    integer, intent(in) :: nodes, given(2)
    logical, intent(in) :: has_weights
#ifdef GRAPH_F08
    type(MPI_Comm) :: graph
#else
    integer :: graph
#endif
    call MPI_Dist_graph_create(MPI_COMM_WORLD, nodes, sources, degrees, destinations, given, MPI_INFO_NULL, .false., &
                               graph, error)
    call look(name, graph, nodes, has_weights)
  end subroutine check

  subroutine check_unweighted()
#ifdef GRAPH_F08
    type(MPI_Comm) :: graph
#else
    integer :: graph
#endif
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
                               graph, error)
    call look('no weights', graph, 1, .false.)
  end subroutine check_unweighted

  subroutine check_empty()
#ifdef GRAPH_F08
    type(MPI_Comm) :: graph
#else
    integer :: graph
#endif
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 0, sources, degrees, destinations, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., &
                               graph, error)
    call look('nothing', graph, 0, .true.)
  end subroutine check_empty

  subroutine look(name, graph, nodes, has_weights)
    character(*), intent(in) :: name
    integer, intent(in) :: nodes
    logical, intent(in) :: has_weights
#ifdef GRAPH_F08
    type(MPI_Comm) :: graph
#else
    integer :: graph
#endif
    integer :: in, out, got_sources(2), got_weights(2), got_destinations(2), out_weights(2), place
    logical :: is_weighted
    integer :: failed
    failed = 0
    if (error /= MPI_SUCCESS) failed = 1
    call MPI_Dist_graph_neighbors_count(graph, in, out, is_weighted, error)
    if (in /= 2 * nodes .or. out /= 2 * nodes .or. (is_weighted .neqv. has_weights)) failed = 2
    if (failed == 0 .and. nodes > 0) then
      got_weights = -1
      if (has_weights) then
        call MPI_Dist_graph_neighbors(graph, 2, got_sources, got_weights, 2, got_destinations, out_weights, error)
      else
        call MPI_Dist_graph_neighbors(graph, 2, got_sources, MPI_UNWEIGHTED, 2, got_destinations, MPI_UNWEIGHTED, error)
      end if
      do place = 1, 2
        if (.not. any(got_destinations == destinations(place))) failed = 3
        if (.not. any(got_sources == modulo(rank - place + ranks, ranks))) failed = 4
        if (.not. has_weights) cycle
        if (got_sources(place) == modulo(rank - 1, ranks) .and. got_weights(place) /= got_sources(place)) failed = 5
        if (got_sources(place) == modulo(rank - 2, ranks) .and. got_weights(place) /= 1000 * got_sources(place)) failed = 6
      end do
    end if
    if (failed /= 0) print *, 'rank', rank, ', ', name, ': failure', failed
    failures = failures + failed
    call MPI_Comm_free(graph, error)
  end subroutine look
end program graph_test
