#pragma once

#include "runtime/communicators/communicator.hpp"

/// What nonblocking operations use, made for a communicator.
namespace nodeaware::contexts {

/// Communicator::with_context(), and the contexts with all that they can have. Collective over
/// `comm`, the first time. Throws MpiError.
Communicator& prepare(MPI_Comm comm);
/// Communicator::meeting(), likewise.
void meeting(MPI_Comm comm);

} // namespace nodeaware::contexts
