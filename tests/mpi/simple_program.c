/* simple_program [SECONDS [FOLDER]]: goes to the folder, ten exchanges, then sleeps. What any
 * application may look like. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank, ranks, i, round, wrong = 0;
    if (argc > 2 && chdir(argv[2]) != 0) return 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *sent = malloc(sizeof(int) * ranks), *received = malloc(sizeof(int) * ranks);
    for (round = 0; round < 10; ++round) {
        for (i = 0; i < ranks; ++i) sent[i] = 100 * rank + i + round;
        MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
        for (i = 0; i < ranks; ++i) wrong += received[i] != 100 * i + rank + round;
    }
    free(sent);
    free(received);
    if (argc > 1) sleep(atoi(argv[1]));
    if (wrong != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    if (rank == 0) puts("simple program done");
    return 0;
}
