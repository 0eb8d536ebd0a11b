#pragma once

#include "runtime/collectives/sparse_messages.hpp"

/// The methods of the paper on sparse dynamic data exchanges, by messages of MPI on a private
/// communicator. Neighbouring calls need different tags: a rank may begin the next one while
/// another still looks for messages, but not the one after that.
namespace nodeaware::sparse {

/// Algorithm 1: a reduction tells each rank how many messages it gets. Collective over `comm`.
/// `counts`: memory for a number of each rank. Throws MpiError if MPI fails so that this rank
/// cannot go on with the others.
void personalized(MPI_Comm comm, int tag, std::span<const Outgoing> outgoing, std::span<int> counts,
                  Received& received);

/// Algorithm 2: synchronous sends tell that what was sent has been received, a nonblocking barrier
/// that this holds on all ranks. The same otherwise.
void nonblocking(MPI_Comm comm, int tag, std::span<const Outgoing> outgoing, Received& received);

} // namespace nodeaware::sparse
