#pragma once

#include "strategies/topology.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace nodeaware {

/// Hashes `value` into `hash`: for fingerprints of traffic that two nodes compare.
uint64_t mix(uint64_t hash, uint64_t value);

/// A message that a rank sends, as the rank itself lists it. Empty messages are not listed.
struct Outgoing {
    int32_t peer = 0;
    /// Messages of one rank with the same number carry the same bytes (they are read from the same
    /// memory).
    uint32_t memory = 0;
    uint64_t bytes = 0;
    bool operator==(const Outgoing&) const = default;
};

/// A message that a rank receives. The k-th message listed from a peer is the k-th that the peer
/// lists to this rank.
struct Incoming {
    int32_t peer = 0;
    uint64_t bytes = 0;
    bool operator==(const Incoming&) const = default;
};

/// All messages of one rank in one operation.
struct RankTraffic {
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    bool packs_late = false; ///< it has to wait for what it packs, as from a device
    /// Names memory of a device in which it offers its large messages to others of the node, and
    /// what it can read of others'; 0: none. Schedules of other memory are others.
    uint64_t slab = 0;
    uint64_t readable = 0;
    bool operator==(const RankTraffic&) const = default;
};

/// A message between two ranks, seen from one of the two nodes.
struct Message {
    int32_t source = 0;
    int32_t destination = 0;
    uint32_t item = 0;   ///< position in the list of the rank that belongs to the node that looks
    uint32_t memory = 0; ///< as in Outgoing; only the sending node knows it
    uint64_t bytes = 0;
};

/// Bytes that leave one rank once and are wanted by one or (allgather) several ranks of another
/// node.
struct Block {
    int32_t source = 0;
    uint32_t first_message = 0; ///< its messages are consecutive in PairTraffic::messages
    uint32_t messages = 0;
    uint64_t bytes = 0;
};

/// Everything that node `source_node` sends to node `destination_node`: the only traffic that a
/// strategy sees when it decides how these bytes travel. Both nodes hold exactly this, so both
/// decide alike without a word between them.
struct PairTraffic {
    const Topology* topology = nullptr;
    int source_node = 0;
    int destination_node = 0;
    std::vector<Message> messages; ///< by source, then destination, then order of listing
    std::vector<Block> blocks;

    uint64_t bytes() const;
    /// A number that differs (but for chance of 2^-64) when the two nodes hold different sizes for
    /// this pair.
    uint64_t fingerprint() const;
};

/// A message between two ranks of one node; `source_item` and `destination_item` are positions in
/// their lists.
struct LocalMessage {
    int32_t source = 0;
    int32_t destination = 0;
    uint32_t source_item = 0;
    uint32_t destination_item = 0;
    uint32_t memory = 0; ///< as in Outgoing
    uint64_t bytes = 0;  ///< what fits: the smaller of what is sent and what is expected
};

/// Memory of a device that one rank of a node has, and others read.
struct SharedSlab {
    int32_t owner = 0;
    uint64_t bytes = 0;
    uint64_t above = 0; ///< of the owner's messages larger ones are on that device, and smaller not
    std::vector<int> readers; ///< at least one
};

/// All traffic that leaves, enters or stays on one node, built by every rank of the node from the
/// same lists.
struct NodeTraffic {
    int node = 0;
    std::vector<PairTraffic> outgoing; ///< one for each node that gets something
    std::vector<PairTraffic> incoming; ///< one for each node that sends something
    std::vector<LocalMessage> local;
    bool packs_late = false;       ///< some rank does
    std::vector<SharedSlab> slabs; ///< of ranks that pack late
    /// Ranks whose on-node messages do not match: a peer sends more than they expect, or nothing at
    /// all.
    std::vector<int> truncated;
};

/// How the messages of one rank may share memory.
enum class Sharing {
    sender, ///< only the sending rank knows which of its messages carry the same bytes
    both ///< every rank sends the same bytes to all its neighbours (allgather), and everybody knows
};

/// Traffic of node `node` from the lists of its ranks (`lists[i]` belongs to the rank with local
/// number i).
NodeTraffic gather_traffic(const Topology& topology, int node,
                           std::span<const RankTraffic* const> lists, Sharing sharing);

} // namespace nodeaware
