#pragma once

#include "strategies/placement/rank_graph.hpp"

#include <cstdint>
#include <vector>

namespace nodeaware::place {

/// The node of each rank, from 0.
using Placement = std::vector<int>;

/// Ranks on each node: those of `ppn` in turn, as NODEAWARE_PPN has it, until all ranks have a
/// place; the last node may have less. `ppn`: positive, at least one.
std::vector<int> node_sizes(int ranks, const std::vector<int>& ppn);

/// Ranks that follow one another share a node.
Placement block_placement(const std::vector<int>& sizes);
/// Ranks are dealt out to the nodes one by one, as long as these have room.
Placement cyclic_placement(const std::vector<int>& sizes);

/// How many ranks each node has.
std::vector<int> ranks_on_nodes(const Placement& placement);

/// What nodes send, or links carry.
struct Carried {
    uint64_t messages = 0;
    uint64_t bytes = 0;
    uint64_t worst_messages = 0; ///< of the one with most
    uint64_t worst_bytes = 0;    ///< likewise; this may be another one
};

/// Of all nodes or links, whose own messages and bytes are given.
Carried total_of(const std::vector<Carried>& each);

/// What leaves nodes.
Carried off_node(const RankGraph& graph, const Placement& placement);

} // namespace nodeaware::place
