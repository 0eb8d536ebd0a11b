/* Communicates, says so, and ends in one of the ways in which programs end.
 *
 *   ending_program finalize | abort | exit | exit_all | signal | handled | crash | fork | atexit
 *
 * abort is rank 1's; exit, signal and crash are rank 0's, while the others wait. handled: rank 0
 * survives a signal by its own handler. fork: rank 0 has a child that calls exit(). atexit:
 * MPI_Finalize is called when main() has returned. */

#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled = 0;
static void handle(int number) { handled = number; }
static void finalize(void) { MPI_Finalize(); }

static void communicate(int rank, int size) {
    int* const sent = calloc((size_t)size, sizeof(int));
    int* const received = calloc((size_t)size, sizeof(int));
    MPI_Comm named;
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "fluid");
    for (int i = 0; i < size; ++i) { sent[i] = rank * size + i; }
    for (int i = 0; i < 5; ++i) {
        MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, named);
        MPI_Sendrecv(sent, 1, MPI_INT, (rank + 1) % size, 0, received, 1, MPI_INT,
                     (rank + size - 1) % size, 0, named, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&named);
    MPI_Barrier(MPI_COMM_WORLD);
    free(sent);
    free(received);
}

/* The others wait in MPI until they are ended. */
static void wait_for_ever(void) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void have_a_child(void) {
    const pid_t child = fork();
    if (child == 0) { exit(0); }
    waitpid(child, NULL, 0);
}

int main(int argc, char** argv) {
    int rank = 0;
    int size = 0;
    const char* const how = argc > 1 ? argv[1] : "finalize";
    if (strcmp(how, "atexit") == 0) { atexit(finalize); }
    if (strcmp(how, "handled") == 0) { signal(SIGTERM, handle); }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    communicate(rank, size);
    if (rank == 0) {
        puts("communicated");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "abort") == 0) {
        if (rank == 1) { MPI_Abort(MPI_COMM_WORLD, 5); }
        wait_for_ever();
    } else if (strcmp(how, "exit") == 0) {
        if (rank == 0) { exit(6); }
        wait_for_ever();
    } else if (strcmp(how, "exit_all") == 0) {
        exit(6);
    } else if (strcmp(how, "signal") == 0) {
        if (rank == 0) { raise(SIGTERM); }
        wait_for_ever();
    } else if (strcmp(how, "crash") == 0) {
        if (rank == 0) { *(volatile int*)8 = 0; }
        wait_for_ever();
    } else if (strcmp(how, "handled") == 0) {
        if (rank == 0) {
            raise(SIGTERM);
            if (handled != SIGTERM) { MPI_Abort(MPI_COMM_WORLD, 9); }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    } else if (strcmp(how, "fork") == 0) {
        if (rank == 0) { have_a_child(); }
        MPI_Finalize();
    } else if (strcmp(how, "finalize") == 0) {
        MPI_Finalize();
    }
    return 0;
}
