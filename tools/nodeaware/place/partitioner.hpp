#pragma once

#include "strategies/placement/choice.hpp"

#include <vector>

namespace nodeaware::place {

/// Ranks on nodes as a partitioner of graphs divides them (METIS, where its headers were when this
/// was built, and it is when this runs): as many on each node as `sizes` says, for which some are
/// moved afterwards, those by which the fewest messages more pass between nodes. Nothing where
/// there is none, or where it fails.
std::vector<Suggestion> partitioned(const RankGraph& graph, const std::vector<int>& sizes);

} // namespace nodeaware::place
