#pragma once

#include "runtime/communicators/communicator.hpp"

/// What nonblocking operations use, made for a communicator.
namespace nodeaware::contexts {

/// Communicator::with_context(), and the context with all that it can have. Collective over `comm`,
/// the first time. Throws MpiError.
Communicator& prepare(MPI_Comm comm);
/// Communicator::persistent_context(), likewise; after prepare().
std::shared_ptr<NonblockingContext> of_persistent(Communicator& communicator);
/// Communicator::meeting(), likewise.
void meeting(MPI_Comm comm);

} // namespace nodeaware::contexts
