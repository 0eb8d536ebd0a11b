#include "mpi_forms.hpp"

#include <cstdio>
#include <string>

namespace bench {

#ifdef BENCH_PERSISTENT
#define BENCH_PERSISTENT_FORMS(P)                                                                  \
    .alltoallv_init = BENCH_PERSISTENT(P, Alltoallv),                                              \
    .neighbor_alltoallv_init = BENCH_PERSISTENT(P, Neighbor_alltoallv),
#else
#define BENCH_PERSISTENT_FORMS(P)
#endif

// One list serves both forms, so that they cannot differ in anything but the prefix.
#define BENCH_FORM(NAME, P)                                                                        \
    {                                                                                              \
        .name = NAME, .alltoall = P##MPI_Alltoall, .alltoallv = P##MPI_Alltoallv,                  \
        .alltoallw = P##MPI_Alltoallw, .neighbor_alltoall = P##MPI_Neighbor_alltoall,              \
        .neighbor_alltoallv = P##MPI_Neighbor_alltoallv,                                           \
        .neighbor_alltoallw = P##MPI_Neighbor_alltoallw,                                           \
        .neighbor_allgather = P##MPI_Neighbor_allgather,                                           \
        .neighbor_allgatherv = P##MPI_Neighbor_allgatherv, .ialltoall = P##MPI_Ialltoall,          \
        .ialltoallv = P##MPI_Ialltoallv, .ialltoallw = P##MPI_Ialltoallw,                          \
        .ineighbor_alltoall = P##MPI_Ineighbor_alltoall,                                           \
        .ineighbor_alltoallv = P##MPI_Ineighbor_alltoallv,                                         \
        .ineighbor_alltoallw = P##MPI_Ineighbor_alltoallw,                                         \
        .ineighbor_allgather = P##MPI_Ineighbor_allgather,                                         \
        .ineighbor_allgatherv = P##MPI_Ineighbor_allgatherv,                                       \
        BENCH_PERSISTENT_FORMS(P).send = P##MPI_Send, .recv = P##MPI_Recv, .isend = P##MPI_Isend,  \
        .irecv = P##MPI_Irecv, .send_init = P##MPI_Send_init, .recv_init = P##MPI_Recv_init,       \
        .start = P##MPI_Start, .startall = P##MPI_Startall, .wait = P##MPI_Wait,                   \
        .waitall = P##MPI_Waitall, .request_free = P##MPI_Request_free,                            \
        .comm_dup = P##MPI_Comm_dup, .comm_free = P##MPI_Comm_free,                                \
        .dist_graph_create_adjacent = P##MPI_Dist_graph_create_adjacent                            \
    }

const Form native_form = BENCH_FORM("native", P);
const Form mpi_form = BENCH_FORM("mpi", );

#undef BENCH_FORM
#undef BENCH_PERSISTENT_FORMS

void check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    std::string text(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s failed: %s\n", rank, call, text.c_str());
    MPI_Abort(MPI_COMM_WORLD, 3);
}

} // namespace bench
