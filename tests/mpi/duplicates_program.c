/* Exchanges on one communicator after the other, all of them alike. */

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int* const counts = calloc((size_t)size, sizeof(int));
    int* const places = calloc((size_t)size, sizeof(int));
    int* const sent = calloc((size_t)size, sizeof(int));
    int* const received = calloc((size_t)size, sizeof(int));
    for (int i = 0; i < size; ++i) {
        counts[i] = 1;
        places[i] = i;
    }
    for (int i = 0; i < 30; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int j = 0; j < 15; ++j) {
            MPI_Alltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT, comm);
        }
        MPI_Comm_free(&comm);
    }
    if (rank == 0) { puts("simple program done"); }
    free(counts);
    free(places);
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
