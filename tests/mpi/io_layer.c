/* Stands in for an MPI whose functions on files are written with its other functions, by their
 * public names: preloaded after the library. */
#include <mpi.h>

#include <stdlib.h>

static void work_inside(void) {
    int ranks = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int* const numbers = calloc(2 * (size_t)ranks, sizeof(int));
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Alltoall(numbers, 1, MPI_INT, numbers + ranks, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Ialltoall(numbers, 1, MPI_INT, numbers + ranks, 1, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(numbers);
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void* data, int count,
                          MPI_Datatype type, MPI_Status* status) {
    work_inside();
    return PMPI_File_write_at_all(file, offset, data, count, type, status);
}

int MPI_File_set_size(MPI_File file, MPI_Offset size) {
    work_inside();
    return PMPI_File_set_size(file, size);
}
