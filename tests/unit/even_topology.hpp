#pragma once

#include "strategies/topology.hpp"

#include <vector>

namespace nodeaware {

/// Nodes with so many ranks each, one node after the other.
inline Topology even_topology(int nodes, int ranks) {
    std::vector<int> names;
    for (int node = 0; node < nodes; ++node) {
        names.insert(names.end(), static_cast<size_t>(ranks), node);
    }
    return Topology(names);
}

} // namespace nodeaware
