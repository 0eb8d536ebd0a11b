#pragma once

#include "runtime/collectives/exchange_arguments.hpp"
#include "runtime/memory/areas_on_host.hpp"

namespace nodeaware {

/// The buffers of a blocking exchange that is left to MPI, on the host: where they are a device's,
/// of which this MPI knows nothing. A matter of this rank alone. Buffers that are not one
/// allocation of one device are left as they are.
class HostBuffers {
  public:
    /// Copies what is sent. `exchange`: as listed for the call. Without memory for that the buffers
    /// are left as they are.
    HostBuffers(const ExchangeArguments& arguments, const Exchange& exchange);

    bool are_needed() const { return sent_.are_one() || received_.are_one(); }
    /// What MPI is to be given instead of the application's.
    const void* sent() const { return in_place_of(arguments_.sent.buffer, sent_); }
    void* received() const { return in_place_of(arguments_.received.buffer, received_); }
    /// Copies what has been received, unless MPI's call has failed; what the call returns.
    int finish(int code);

  private:
    static void* in_place_of(const void* buffer, const AreasOnHost& areas) {
        return areas.are_one() ? areas.in_place_of(buffer) : const_cast<void*>(buffer);
    }

    const ExchangeArguments& arguments_;
    int error_ = MPI_SUCCESS;
    AreasOnHost sent_;
    AreasOnHost received_;
};

} // namespace nodeaware
