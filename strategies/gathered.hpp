#pragma once

#include "strategies/schedule.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// `gathered`: what the ranks of a node send to one rank of another travels as one message,
/// straight to that rank. The strategy of nonblocking operations.
///
/// After a nonblocking operation has begun, a rank may compute, or block in any other MPI function,
/// and must not be needed by others. So it packs what it has to send into shared memory as it
/// begins, and whoever of its node begins last sends for all of them. A rank has then everything
/// that it waits for as soon as all others have begun, which is what MPI promises too.
namespace nodeaware::gathered {

/// Bytes for one destination that a rank has packed in its region.
struct Contribution {
    int32_t destination = 0;
    uint32_t unused = 0;
    uint64_t bytes = 0;
    bool operator==(const Contribution&) const = default;
};

/// Size of the region of shared memory of a rank of `node` in one operation: the number of
/// contributions, the contributions in ascending order of destination, their bytes.
uint64_t region_bytes(const Topology& topology, int node, uint64_t arena_bytes);

/// The most bytes that `source` sends to one rank of another node by way of its region. More go by
/// themselves. Both ends know the result: gathering copies the bytes twice, so it pays for messages
/// that cost more to begin than to copy.
uint64_t limit(const Topology& topology, int source, const Parameters& parameters);

/// What a rank does for itself.
struct OwnPart {
    std::vector<Contribution> contributions;
    uint64_t contributed_bytes = 0;
    /// The prologue packs the contributions, one after the other from offset 0. The steps use
    /// memory and counters of this rank alone; pieces come from any rank of the node of the rank
    /// that they name.
    Schedule schedule;
};

/// `above`: what goes to one rank of another node in that many bytes or fewer goes by itself, as
/// the caller has something better for it. Of the source, which both ends know.
OwnPart own_part(const Topology& topology, const RankTraffic& traffic, int rank,
                 const Parameters& parameters, const std::function<uint64_t(int source)>& above);

/// What the rank of `node` does that begins last, for all: packs the contributions and sends them,
/// from memory of its own. `contributions` are those of the ranks of the node; items are their
/// contributions counted one rank after the other.
Schedule node_part(const Topology& topology, int node,
                   std::span<const std::vector<Contribution>> contributions);

} // namespace nodeaware::gathered
