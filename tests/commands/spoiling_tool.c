/* A tool that is preloaded: of what rank 0 receives by MPI_Alltoallv one byte is wrong in every
 * call. Of a sparse exchange there, SPOIL says what is: a byte, a first message that is longer, or
 * a last one that is lost. */
#define _GNU_SOURCE
#include "runtime/core/nodeaware.h"

#include <mpi.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int MPI_Alltoallv(const void* sent, const int* send_counts, const int* send_displacements,
                  MPI_Datatype send_type, void* received, const int* receive_counts,
                  const int* receive_displacements, MPI_Datatype receive_type, MPI_Comm comm) {
    __typeof__(&MPI_Alltoallv) next =
        __extension__(__typeof__(&MPI_Alltoallv)) dlsym(RTLD_NEXT, "MPI_Alltoallv");
    const int result = next(sent, send_counts, send_displacements, send_type, received,
                            receive_counts, receive_displacements, receive_type, comm);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int source = 0; rank == 0 && source < ranks; ++source) {
        if (receive_counts[source] == 0) { continue; }
        ((unsigned char*)received)[receive_displacements[source]] ^= 1;
        break;
    }
    return result;
}

int nodeaware_alltoall_sparse_v(int send_nnz, int send_size, const int* dest, const int* sendcounts,
                                const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
                                int* recv_nnz, int* recv_size, int** src, int** recvcounts,
                                int** rdispls, MPI_Datatype recvtype, void** recvvals,
                                MPI_Comm comm) {
    __typeof__(&nodeaware_alltoall_sparse_v) next =
        __extension__(__typeof__(&nodeaware_alltoall_sparse_v))
            dlsym(RTLD_NEXT, "nodeaware_alltoall_sparse_v");
    const char* what = getenv("SPOIL");
    const int result =
        next(send_nnz, send_size, dest, sendcounts, sdispls, sendtype, sendvals, recv_nnz,
             recv_size, src, recvcounts, rdispls, recvtype, recvvals, comm);
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank > 0 || !what || *recv_nnz < 2) { return result; }
    if (!strcmp(what, "byte")) { *(unsigned char*)*recvvals ^= 1; }
    if (!strcmp(what, "longer")) { ++**recvcounts; }
    if (!strcmp(what, "lost")) { --*recv_nnz; }
    return result;
}
