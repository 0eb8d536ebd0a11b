/* A small MPI tool to be preloaded beside the library: counts some calls and, at MPI_Finalize,
 * prints the sums of rank 0. Compiled as it is, it passes calls on with PMPI_X, as most tools do;
 * with COUNT_BY_NEXT, to the next library. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>

static int alltoalls, sends;

#ifdef COUNT_BY_NEXT
#define PASS_ON(name) (__extension__(__typeof__(&MPI_##name)) dlsym(RTLD_NEXT, "MPI_" #name))
#else
#define PASS_ON(name) PMPI_##name
#endif

int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
    ++alltoalls;
    return PASS_ON(Alltoall)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

int MPI_Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
    ++sends;
    return PASS_ON(Isend)(buf, count, datatype, dest, tag, comm, request);
}

int MPI_Finalize(void) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("tool: alltoalls %d sends %d\n", alltoalls, sends);
        fflush(stdout);
    }
    return PASS_ON(Finalize)();
}
