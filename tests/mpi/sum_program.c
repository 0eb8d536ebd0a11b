/* sum_program: a sum over all ranks, first of all. Says on each rank where it is wrong. */
#include <mpi.h>

#include <stdio.h>

int main(int argc, char** argv) {
    int rank, ranks, mine, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    mine = rank + 5;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != ranks * 5 + ranks * (ranks - 1) / 2) printf("rank %d: wrong sum %d\n", rank, sum);
    fflush(stdout);
    MPI_Finalize();
    if (rank == 0) puts("sum program done");
    return 0;
}
