/* stand_in_program LIBRARY: a program of MPI that loads a library with a stand-in for it. */
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "stand_in_program: %s\n", argc > 1 ? dlerror() : "no library");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int (*const sum)(int) = __extension__(int (*)(int)) dlsym(library, "sum_of_one_process");
    int wrong = 0;
    for (int i = 0; i < 50; ++i) {
        const int mine = rank + i;
        int all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong += all != ranks * (ranks - 1) / 2 + ranks * i || sum(mine) != mine;
    }
    MPI_Finalize();
    return wrong != 0;
}
