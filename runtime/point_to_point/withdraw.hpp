#pragma once

#include "runtime/mpi/mpi.hpp"

namespace nodeaware {

/// Takes back a receive of MPI. True: no message had met it, and it is gone. False: one has, and
/// the receive goes on. Throws MpiError.
bool withdraw(MPI_Request* receive);

} // namespace nodeaware
