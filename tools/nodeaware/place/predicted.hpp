#pragma once

#include "strategies/costs.hpp"
#include "strategies/placement/placement.hpp"

namespace nodeaware::place {

/// Seconds that all messages between nodes are thought to take by MPI, one by one: of the node that
/// takes longest to send or to receive its own (NodeLoad: equation 4.3 of the node-aware strategies
/// paper). What stays on a node is not counted.
double predicted_seconds(const RankGraph& graph, const Placement& placement, const Costs& costs);

} // namespace nodeaware::place
