#pragma once

#include "runtime/collectives/sparse_context.hpp"
#include "runtime/collectives/sparse_messages.hpp"

namespace nodeaware::sparse {

/// Algorithm 3 of the paper on sparse dynamic data exchanges: what a rank has for another node goes
/// as one message to the rank there that has its local number (modulo the ranks of that node), by
/// the nonblocking method; that hands it out on the node by the personalized one. Collective over
/// the communicator of a context whose method this is. Throws MpiError.
void locality(Context& context, int tag, std::span<const Outgoing> outgoing, Received& received);

} // namespace nodeaware::sparse
