/* A tool that is preloaded: of what rank 0 receives by MPI_Alltoallv one byte is wrong in every
 * call. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>

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
