#pragma once

#include "strategies/placement/placement.hpp"

#include <vector>

namespace nodeaware::place {

/// Lets ranks of different nodes change places, as long as fewer messages pass between nodes
/// thereby, and no node sends more than `most` unless one of the two has sent more before; then
/// those of the nodes that send most, as long as these send less thereby, if that is worth what
/// others send more.
void improve_by_swaps(const RankGraph& graph, Placement& placement, uint64_t most);

/// How good a placement is, compared with another one (less is better): the node that sends most
/// counts twice as much as all.
double badness(const Carried& placed, const Carried& start);

} // namespace nodeaware::place
