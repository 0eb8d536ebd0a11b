/* Stands for MPI's standard binary interface, libmpi_abi: the functions that the library calls of
   it before it has loaded a core. Handles are those of MPI 5.0, chapter 20; the MPI below has its
   own. */
#include <mpi.h>

#include <stddef.h>
#include <stdint.h>

int MPI_Abi_get_version(int* major, int* minor) {
    *major = 1;
    *minor = 0;
    return 0;
}

int MPI_Iallreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
    const intptr_t integer = 0x209;
    const intptr_t minimum = 0x22;
    const intptr_t world = 0x101;
    if ((intptr_t)type != integer || (intptr_t)op != minimum || (intptr_t)comm != world) {
        return MPI_ERR_COMM;
    }
    return PMPI_Iallreduce(sent, received, count, MPI_INT, MPI_MIN, MPI_COMM_WORLD, request);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return PMPI_Test(request, flag, status == NULL ? MPI_STATUS_IGNORE : status);
}
