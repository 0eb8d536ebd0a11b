#pragma once

#include "strategies/strategy.hpp"

#include <cstdint>

/// Small messages of a node's ranks for another node that travel as one, whatever operation they
/// belong to: which do, and what an exchange is thought to take of which they are a part. Pure.
namespace nodeaware::containers {

/// Memory in which a node puts together what it sends to another one. Its size is that of the
/// largest container, so larger exchanges are several.
struct Cells {
    static constexpr uint32_t for_each_node = 4;
    uint64_t bytes = 0;     ///< of one; 0: the node has too little memory for any
    uint64_t collected = 0; ///< of these, for messages with what stands in front of each
    /// The largest message that travels with others.
    uint64_t most_bytes() const { return collected / 4; }
};

/// The same on all nodes. `memory`: of a node, for both directions. `beside`: what a container has
/// beside its messages at most (bytes).
Cells cells_of(uint64_t memory, int other_nodes, uint64_t beside);

/// Containers that are larger than MPI sends at once are cut to that, if it is no less than this.
inline constexpr uint32_t least_cut = 16 << 10;

/// Who has sent the messages decides what becomes of those that are not small.
enum class Kind {
    point_to_point, ///< they go as by MPI
    nonblocking     ///< exchanges: those of a node for one rank as one message, up to a size
};

/// Seconds that an exchange of a node is thought to take in containers: see predicted_seconds() of
/// the strategies, which hold for blocking exchanges. As many messages as fit travel together.
double predicted_seconds(const NodeTraffic& traffic, Kind kind, const Cells& cells,
                         const Parameters& parameters);

} // namespace nodeaware::containers
