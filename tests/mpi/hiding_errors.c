/* Makes of an MPICH one of 4.3 in one respect: once an error handler of the program has been
 * called, functions return success. To be preloaded behind the library. */

#include <mpi.h>

#include <stdio.h>

static int told(MPI_Comm comm, int code) {
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    if (code == MPI_SUCCESS || PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) {
        return code;
    }
    const int is_own = handler != MPI_ERRORS_RETURN;
    PMPI_Errhandler_free(&handler);
    return is_own ? MPI_SUCCESS : code;
}

int MPI_Get_library_version(char* version, int* length) {
    *length = sprintf(version, "MPICH Version:      4.3.2\n");
    return MPI_SUCCESS;
}

#define OF_COMMUNICATOR(name, parameters, arguments)                                               \
    int MPI_##name parameters { return told(comm, PMPI_##name arguments); }
#define OF_REQUESTS(name, parameters, arguments)                                                   \
    int MPI_##name parameters { return told(MPI_COMM_WORLD, PMPI_##name arguments); }

OF_COMMUNICATOR(Send,
                (const void* buffer, int count, MPI_Datatype type, int peer, int tag,
                 MPI_Comm comm),
                (buffer, count, type, peer, tag, comm))
OF_COMMUNICATOR(Isend,
                (const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request* request),
                (buffer, count, type, peer, tag, comm, request))
OF_COMMUNICATOR(Recv,
                (void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Status* status),
                (buffer, count, type, peer, tag, comm, status))
OF_COMMUNICATOR(Irecv,
                (void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request* request),
                (buffer, count, type, peer, tag, comm, request))
OF_COMMUNICATOR(Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
                (source, tag, comm, flag, status))
OF_COMMUNICATOR(Improbe,
                (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                 MPI_Status* status),
                (source, tag, comm, flag, message, status))
OF_REQUESTS(Wait, (MPI_Request * request, MPI_Status* status), (request, status))
OF_REQUESTS(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses),
            (count, requests, statuses))
OF_REQUESTS(Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status),
            (count, requests, index, status))
OF_REQUESTS(Waitsome,
            (int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
            (count, requests, done, indices, statuses))
OF_REQUESTS(Testany, (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
            (count, requests, index, flag, status))
OF_REQUESTS(Testsome,
            (int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses),
            (count, requests, done, indices, statuses))

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    return told(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, PMPI_Comm_dup(comm, made));
}
