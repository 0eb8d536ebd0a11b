// To be preloaded behind the library: makes MPI_Pack and MPI_Unpack know the memory of the stand-in
// device, as those of an MPI that is made for devices do.

#include "tests/mpi/device/stand_in.hpp"

#include <mpi.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int MPI_Pack(const void* from, int count, MPI_Datatype type, void* to, int size,
                      int* position, MPI_Comm comm) {
    stand_in_open(true);
    const int code = PMPI_Pack(from, count, type, to, size, position, comm);
    stand_in_open(false);
    return code;
}

EXPORTED int MPI_Unpack(const void* from, int size, int* position, void* to, int count,
                        MPI_Datatype type, MPI_Comm comm) {
    stand_in_open(true);
    const int code = PMPI_Unpack(from, size, position, to, count, type, comm);
    stand_in_open(false);
    return code;
}
