#pragma once

#include "runtime/collectives/exchange_arguments.hpp"

#include <memory>
#include <vector>

namespace nodeaware {

/// The buffers of a blocking exchange that is left to MPI, on the host: where they are a device's,
/// of which this MPI knows nothing. A matter of this rank alone. Buffers that are not one
/// allocation of one device are left as they are.
class HostBuffers {
  public:
    /// Copies what is sent. `exchange`: as listed for the call. Throws std::bad_alloc.
    HostBuffers(const ExchangeArguments& arguments, const Exchange& exchange);

    bool are_needed() const { return sent_.is_used() || received_.is_used(); }
    /// What MPI is to be given instead of the application's.
    const void* sent() const { return sent_.buffer(); }
    void* received() const { return received_.buffer(); }
    /// Copies what has been received, unless MPI's call has failed; what the call returns.
    int finish(int code);

  private:
    /// One buffer, from the first to the last byte that the exchange may touch.
    class Copy {
      public:
        Copy(void* buffer, const std::vector<UserMemory>& memories);
        bool is_used() const { return bytes_ != nullptr; }
        void* buffer() const { return buffer_; }
        /// Throw MpiError.
        void load(const std::vector<UserMemory>& memories);
        void store(const std::vector<UserMemory>& memories);

      private:
        std::byte* at(uint64_t address) { return bytes_.get() + (address - span_.begin); }

        device::Span span_;
        std::unique_ptr<std::byte[]> bytes_;
        void* buffer_; ///< with the same displacements
    };

    const Exchange& exchange_;
    int error_ = MPI_SUCCESS;
    Copy sent_;
    Copy received_;
};

} // namespace nodeaware
