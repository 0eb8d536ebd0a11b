#pragma once

#include "strategies/placement/placement.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware::place {

/// Routers in a torus, each with the same number of nodes, such as the Gemini network has two.
/// Node i is at router i / at_a_router; routers are numbered with the last dimension fastest.
struct Torus {
    std::vector<int> dimensions; ///< in routers; none: no torus is known
    int at_a_router = 1;         ///< nodes

    size_t routers() const;
    size_t nodes() const { return routers() * static_cast<size_t>(at_a_router); }
    /// Position of a node's router in each dimension.
    std::vector<int> position(size_t node) const;
};

/// Links that a message passes between two positions.
int64_t hops(const Torus& torus, const std::vector<int>& from, const std::vector<int>& to);

/// What the links between routers carry where messages go the shorter way in the first dimension,
/// then in the second one, and so on (up where both ways are as long). A message counts once on
/// each link, of which each direction is one. `placement`: on nodes of the torus.
Carried link_traffic(const RankGraph& graph, const Placement& placement, const Torus& torus);

/// Throws std::invalid_argument where sums of messages or of bytes on links might have no room.
void check_link_traffic(const RankGraph& graph, const Torus& torus);

/// What passes between nodes, as if each were one rank.
RankGraph node_graph(const RankGraph& graph, const Placement& placement, size_t nodes);

} // namespace nodeaware::place
