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

    const ProtocolCosts& of(uint64_t bytes) const {
        for (const ProtocolCosts& protocol : protocols) {
            if (bytes <= protocol.limit) { return protocol; }
        }
        return protocols.back();
    }
};

} // namespace nodeaware
