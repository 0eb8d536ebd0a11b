#pragma once

#include "strategies/costs.hpp"
#include "strategies/topology.hpp"

#include <cstdint>

/// How a sparse exchange goes, from what all ranks know alike: nothing of its messages.
namespace nodeaware::sparse {

/// Bytes of a block (strategies/sparse_block.hpp), on all ranks the same. The blocks of a node's
/// ranks for another node travel as one message; what all of them add to the messages of a node
/// should cost no more than half of what these cost by their number, and none of them should have
/// to ask its receiver first.
uint64_t block_bytes(const Topology& topology, const Costs& costs);

/// Seconds that blocks between all nodes are thought to take: the messages of a node, ceil((N - 1)
/// / ppn) of its busiest rank, and every rank takes a block of every rank from shared memory. Grows
/// with the number of ranks.
double node_pairs_seconds(const Topology& topology, const Costs& costs);

/// Seconds of the same exchange by synchronous sends, so many of each rank to other nodes, and a
/// barrier (Algorithm 2 of the paper on locality-aware sparse dynamic data exchanges).
double nonblocking_seconds(const Topology& topology, const Costs& costs, int messages);

/// True if the former is thought to take no longer where each rank sends to a few others, as when
/// the pattern of a matrix product is set up.
bool node_pairs_pay(const Topology& topology, const Costs& costs);

} // namespace nodeaware::sparse
