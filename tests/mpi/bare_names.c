/* A library of C, and a program of it, with functions that have bare names of MPI's Fortran
 * functions. */
#include <stdio.h>

int mpi_init(int number) { return number + 1; }
int mpi_allreduce(int one, int other) { return one * other; }

int main(void) { return mpi_init(1) != 2 || mpi_allreduce(2, 3) != 6 || puts("finalized") < 0; }
