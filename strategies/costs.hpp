#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace nodeaware {

/// What a message between nodes costs, up to a size (seconds, bytes).
struct ProtocolCosts {
    /// Largest message of this protocol.
    uint64_t limit = std::numeric_limits<uint64_t>::max();
    double latency = 0;  ///< alpha: for the rank that sends it
    double per_byte = 0; ///< beta
    double gap = 0;      ///< by which it delays the next message of any rank of its node
};

/// What copies between memory of a device and of the host cost the rank that makes them, in one
/// exchange (seconds, bytes).
struct CopyCosts {
    double latency = 0; ///< of the first
    double next = 0;    ///< of each further one, which is not waited for by itself
    double per_byte = 0;
};

/// What exchanges cost whose memory is a device's. The defaults are those of "lassen-spectrum", for
/// one rank on each device.
struct DeviceCosts {
    /// Messages up to this go by way of the host, whatever MPI can: all of a rank are copied
    /// together (bytes).
    static constexpr uint64_t copied_together = 128 << 10;

    bool are_used = false;     ///< else nothing of this counts
    bool mpi_is_aware = false; ///< larger messages may go straight from device to device
    CopyCosts to_host = {1.27e-5, 1.27e-5, 1.96e-11};
    /// Of 1 to 4 ranks that copy from one device at a time.
    std::array<CopyCosts, 4> to_host_by = {{{1.27e-5, 1.27e-5, 1.96e-11},
                                            {1.47e-5, 1.47e-5, 1.50e-10},
                                            {1.47e-5, 1.47e-5, 1.50e-10},
                                            {1.47e-5, 1.47e-5, 1.50e-10}}};
    CopyCosts to_device = {1.30e-5, 1.30e-5, 1.85e-11};
    /// Of messages that go straight. By ascending limit.
    std::array<ProtocolCosts, 3> protocols = {{
        {0, 8.95e-6, 1.72e-10, 7.3e-7},
        {8192, 8.95e-6, 1.72e-10, 7.3e-7},
        {std::numeric_limits<uint64_t>::max(), 1.10e-5, 1.72e-10, 5.7e-7},
    }};
    double node_per_byte = 0; ///< 1/R_N of these; 0: never reached
};

/// What moves cost on one machine: what the choice for a node pair is made from. The same on all
/// ranks. The defaults are those of a common InfiniBand cluster ("lassen-spectrum" of the published
/// tables), with memory of 5 GB/s a rank.
struct Costs {
    /// By ascending limit; short, eager, rendezvous.
    std::array<ProtocolCosts, 3> protocols = {{
        {128, 1.89e-6, 6.88e-10, 2e-7},
        {8192, 2.44e-6, 3.79e-10, 2e-7},
        {std::numeric_limits<uint64_t>::max(), 7.76e-6, 7.97e-11, 4e-7},
    }};
    double node_per_byte = 4.19e-11; ///< 1/R_N: the injection limit
    double copy_per_byte = 2e-10;    ///< of one rank, to or from the arena while all others do so
    double flag = 1e-6;              ///< from raising a flag until another rank has seen it
    DeviceCosts devices;

    const ProtocolCosts& of(uint64_t bytes) const { return of(bytes, protocols); }
    const ProtocolCosts& eager() const { return protocols[protocols.size() - 2]; }
    const ProtocolCosts& rendezvous() const { return protocols.back(); }
    /// The same of messages that go straight from device to device.
    const ProtocolCosts& of_devices(uint64_t bytes) const { return of(bytes, devices.protocols); }

    /// Those of calls whose memory is a device's.
    Costs with_devices(bool mpi_is_aware) const {
        Costs costs = *this;
        costs.devices.are_used = true;
        costs.devices.mpi_is_aware = mpi_is_aware;
        return costs;
    }

  private:
    static const ProtocolCosts& of(uint64_t bytes, const std::array<ProtocolCosts, 3>& all) {
        for (const ProtocolCosts& protocol : all) {
            if (bytes <= protocol.limit) { return protocol; }
        }
        return all.back();
    }
};

} // namespace nodeaware
