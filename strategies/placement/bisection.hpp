#pragma once

#include "strategies/placement/placement.hpp"

#include <vector>

namespace nodeaware::place {

/// Divides the ranks between two groups of nodes so that few messages pass between them, then each
/// group likewise, down to single nodes. Each division is the best of three: of the ranks as they
/// lie in `start`, and of those that have most to do with a first one, and with one far from it;
/// all improved as Fiduccia and Mattheyses do, for exact sizes.
Placement bisected(const RankGraph& graph, const std::vector<int>& sizes, const Placement& start);

} // namespace nodeaware::place
