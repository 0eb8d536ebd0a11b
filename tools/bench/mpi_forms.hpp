// The two forms of every timed MPI function: MPI_X, which a preloaded library may reroute, and
// PMPI_X, which always is the MPI library's own.
#pragma once

#include <mpi.h>

// Persistent collectives are of MPI 4; Open MPI 4.1 has them as an extension.
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define BENCH_PERSISTENT(P, name) P##MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define BENCH_PERSISTENT(P, name) P##MPIX_##name##_init
#endif

namespace bench {

struct Form {
    const char* name;
    decltype(&MPI_Alltoall) alltoall;
    decltype(&MPI_Alltoallv) alltoallv;
    decltype(&MPI_Alltoallw) alltoallw;
    decltype(&MPI_Neighbor_alltoall) neighbor_alltoall;
    decltype(&MPI_Neighbor_alltoallv) neighbor_alltoallv;
    decltype(&MPI_Neighbor_alltoallw) neighbor_alltoallw;
    decltype(&MPI_Neighbor_allgather) neighbor_allgather;
    decltype(&MPI_Neighbor_allgatherv) neighbor_allgatherv;
    decltype(&MPI_Ialltoall) ialltoall;
    decltype(&MPI_Ialltoallv) ialltoallv;
    decltype(&MPI_Ialltoallw) ialltoallw;
    decltype(&MPI_Ineighbor_alltoall) ineighbor_alltoall;
    decltype(&MPI_Ineighbor_alltoallv) ineighbor_alltoallv;
    decltype(&MPI_Ineighbor_alltoallw) ineighbor_alltoallw;
    decltype(&MPI_Ineighbor_allgather) ineighbor_allgather;
    decltype(&MPI_Ineighbor_allgatherv) ineighbor_allgatherv;
#ifdef BENCH_PERSISTENT
    decltype(&BENCH_PERSISTENT(, Alltoallv)) alltoallv_init;
    decltype(&BENCH_PERSISTENT(, Neighbor_alltoallv)) neighbor_alltoallv_init;
#endif
    decltype(&MPI_Send) send;
    decltype(&MPI_Recv) recv;
    decltype(&MPI_Isend) isend;
    decltype(&MPI_Irecv) irecv;
    decltype(&MPI_Send_init) send_init;
    decltype(&MPI_Recv_init) recv_init;
    decltype(&MPI_Start) start;
    decltype(&MPI_Startall) startall;
    decltype(&MPI_Wait) wait;
    decltype(&MPI_Waitall) waitall;
    decltype(&MPI_Request_free) request_free;
    decltype(&MPI_Comm_dup) comm_dup;
    decltype(&MPI_Comm_free) comm_free;
    decltype(&MPI_Dist_graph_create_adjacent) dist_graph_create_adjacent;
};

extern const Form native_form; // PMPI_X
extern const Form mpi_form;    // MPI_X

// Ends the whole program, naming the call, if `code` is an error: after a failed MPI call the
// other ranks cannot be relied on to answer.
void check(int code, const char* call);

} // namespace bench
