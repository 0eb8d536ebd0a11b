/* Stands for an MPI library with a name that nobody knows, and an application of it. */
#include <stdio.h>

int MPI_Finalize(void) { return puts("finalized") < 0; }

int main(void) { return MPI_Finalize(); }
