#pragma once

#include "runtime/memory/areas_on_host.hpp"
#include "runtime/memory/exchange.hpp"

namespace nodeaware {

/// The small messages of an exchange whose memory is a device's, on the host as long as it lasts.
/// What is large goes by itself, and straight where MPI reaches it.
class CopiedTogether {
  public:
    /// Copies what is sent, and replaces the memory of all of them in the exchange. Without room
    /// for that the exchange stays as it is; what a copy fails with is told in its `error`.
    explicit CopiedTogether(Exchange& exchange);
    /// The same for what is sent alone, as long as this lives.
    CopiedTogether(std::vector<UserMemory>& sent, int* error);

    /// The exchange is over: copies what was received. Throws MpiError and std::bad_alloc.
    void finish(MPI_Comm comm) { received_.store(comm); }

  private:
    AreasOnHost sent_;
    AreasOnHost received_;
};

} // namespace nodeaware
