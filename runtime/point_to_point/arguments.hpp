#pragma once

#include "runtime/mpi/mpi.hpp"

/// Arguments of point-to-point calls. What MPI would refuse the library must refuse in the same
/// way.
namespace nodeaware::transfers {

/// The arguments of a send or a receive.
struct Message {
    void* buffer;
    MPI_Count count;
    MPI_Datatype type;
    int peer;
    int tag;
    MPI_Comm comm;
};

/// MPI_SUCCESS, or what MPI says of the arguments; then the error handler has been called. Where
/// there is any doubt MPI itself is asked, by way of a persistent request that is never started.
int check_send(const Message& message);
int check_receive(const Message& message);

} // namespace nodeaware::transfers
