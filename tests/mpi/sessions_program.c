/* sessions_program [init]: alltoall on a communicator made from a session; with `init`, in a
   program that calls MPI_Init, too. Prints one line when all is well. */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

static int exchange(MPI_Comm comm) {
    int rank, size, wrong = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int sent[64], received[64];
    for (int i = 0; i < size; ++i) sent[i] = 100 * rank + i;
    MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, comm);
    for (int i = 0; i < size; ++i) wrong += received[i] != 100 * i + rank;
    return wrong;
}

int main(int argc, char** argv) {
    const int with_init = argc > 1 && strcmp(argv[1], "init") == 0;
    int wrong = 0, rank = 0;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    if (with_init) MPI_Init(&argc, &argv);
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS) return 1;
    if (MPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS) return 1;
    if (MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) !=
        MPI_SUCCESS)
        return 1;
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < 5; ++i) wrong += exchange(comm);
    if (with_init) wrong += exchange(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (with_init) MPI_Finalize();
    if (rank == 0 && wrong == 0) puts("simple program done");
    return wrong != 0;
}
