#pragma once

#include "runtime/mpi/mpi.hpp"

namespace nodeaware {

/// A private communicator of this process alone, on which errors return: for calls that show what
/// MPI thinks of something. Between Communicator::open() and close().
MPI_Comm self_communicator();

void open_self_communicator(); ///< throws MpiError
void close_self_communicator();

} // namespace nodeaware
