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

/// MPI_SUCCESS, or what MPI says of the arguments; no error handler is called. Where there is any
/// doubt MPI itself is asked, by way of a persistent request that is never started. `is_rank`: the
/// peer is one of the communicator, or for a receive MPI_ANY_SOURCE. Throw MpiError.
int check_send(const Message& message, bool is_rank);
int check_receive(const Message& message, bool is_rank);
/// Beyond doubt a tag to look for.
bool is_tag_of_receives(int tag);

} // namespace nodeaware::transfers
