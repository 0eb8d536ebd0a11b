// The two forms of every timed MPI function: MPI_X, which a preloaded library may reroute, and
// PMPI_X, which always is the MPI library's own.
#pragma once

#include <mpi.h>

namespace bench {

struct Form {
    const char* name;
    decltype(&MPI_Alltoall) alltoall;
    decltype(&MPI_Alltoallv) alltoallv;
    decltype(&MPI_Alltoallw) alltoallw;
    decltype(&MPI_Neighbor_alltoallv) neighbor_alltoallv;
    decltype(&MPI_Neighbor_alltoallw) neighbor_alltoallw;
    decltype(&MPI_Neighbor_allgather) neighbor_allgather;
    decltype(&MPI_Neighbor_allgatherv) neighbor_allgatherv;
    decltype(&MPI_Send) send;
    decltype(&MPI_Recv) recv;
    decltype(&MPI_Isend) isend;
    decltype(&MPI_Irecv) irecv;
    decltype(&MPI_Send_init) send_init;
    decltype(&MPI_Recv_init) recv_init;
    decltype(&MPI_Startall) startall;
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
