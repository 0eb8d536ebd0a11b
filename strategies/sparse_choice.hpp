#pragma once

#include "strategies/costs.hpp"
#include "strategies/topology.hpp"

#include <cstdint>

/// How a sparse exchange goes, from what all ranks know alike: nothing of its messages.
namespace nodeaware::sparse {

/// Most bytes of a block (strategies/sparse_block.hpp). The blocks of a node's ranks for another
/// node travel as one message; what all of them add to the messages of a node should cost no more
/// than half of what these cost by their number, and none of them should have to ask its receiver
/// first.
uint64_t block_bytes(const Topology& topology, const Costs& costs);

/// How blocks go, on all ranks the same.
struct Blocks {
    uint64_t bytes = 0; ///< of each
    int radix = 0; ///< with which nodes relay them (strategies/relay.hpp); 0: each sends to each
};

/// As is thought quickest. Blocks that are relayed may be smaller, down to a quarter, where what
/// carries several of them then goes without asking. `arena_bytes`: as in Parameters, so that all
/// have room on their way.
Blocks blocks_for(const Topology& topology, const Costs& costs,
                  uint64_t arena_bytes = uint64_t{1} << 40);

/// What every rank sends to other nodes in a sparse exchange, dealt out evenly.
struct Pattern {
    int messages = 0;
    double bytes = 0;      ///< of each message
    int reached_nodes = 0; ///< that it sends to; 0: as many as there are and messages for them
};

/// How many nodes a rank sends to: so many messages are left of its own where it sends one to each
/// (the paper on locality-aware sparse dynamic data exchanges: "standard" and "aggregated").
int reached_nodes(const Topology& topology, const Pattern& pattern);

/// Seconds that blocks between all nodes are thought to take: the messages of a node, ceil((N - 1)
/// / ppn) of its busiest rank, or those by which nodes relay, and every rank takes a block of every
/// rank from shared memory. Grows with the number of ranks.
double node_pairs_seconds(const Topology& topology, const Costs& costs);
/// The same, and what of the pattern the blocks have no room for: lists, and messages.
double node_pairs_seconds(const Topology& topology, const Costs& costs, const Pattern& pattern);

/// Seconds of Algorithm 1 of that paper: the messages, and a sum over all ranks of a number of each
/// (recursive doubling, of which log2(N) rounds leave the node).
double personalized_seconds(const Topology& topology, const Costs& costs, const Pattern& pattern);

/// Algorithm 2: the messages by synchronous sends, each of which its receiver answers, and a
/// barrier (dissemination: in round k, min(2^k, ppn) messages leave each node).
double nonblocking_seconds(const Topology& topology, const Costs& costs, const Pattern& pattern);

/// Algorithm 3: one message for each node reached by the former, and on the node Algorithm 1,
/// where a message takes a flag and its copies.
double locality_seconds(const Topology& topology, const Costs& costs, const Pattern& pattern);

/// True if blocks are thought to take no longer than Algorithm 2 where each rank sends to a few
/// others, as when the pattern of a matrix product is set up.
bool node_pairs_pay(const Topology& topology, const Costs& costs);

/// Of methods by messages of MPI alone, Algorithm 1 for few ranks and else Algorithm 2.
inline bool is_personalized_better(int ranks) {
    constexpr int few = 16;
    return ranks <= few;
}

} // namespace nodeaware::sparse
