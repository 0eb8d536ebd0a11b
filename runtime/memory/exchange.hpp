#pragma once

#include "runtime/job/operation.hpp"
#include "runtime/memory/datatype.hpp"
#include "strategies/traffic.hpp"

#include <vector>

namespace nodeaware {

/// One operation as every part of the library sees it: the messages of this rank, and where their
/// bytes are. Empty messages are left out.
struct Exchange {
    Operation operation = Operation::alltoallv;
    Sharing sharing = Sharing::sender;
    RankTraffic traffic;
    std::vector<UserMemory> outgoing; ///< of traffic.outgoing, one by one
    std::vector<UserMemory> incoming;
    /// What is sent lies where the result goes (MPI_IN_PLACE): see stage_outgoing().
    bool in_place = false;
    std::vector<std::byte> staged; ///< copy of what is sent, for in_place
    int error = MPI_SUCCESS;       ///< of staging: what is sent is not right, and others wait

    void clear();
    /// All that this rank sends.
    uint64_t bytes_sent() const {
        uint64_t bytes = 0;
        for (const Outgoing& message : traffic.outgoing) { bytes += message.bytes; }
        return bytes;
    }
};

} // namespace nodeaware
