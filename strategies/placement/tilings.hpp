#pragma once

#include "strategies/placement/placement.hpp"

#include <string>
#include <vector>

namespace nodeaware::place {

/// Ranks of a grid, cut into boxes.
struct Tiling {
    std::vector<int> tile; ///< size in each dimension
    bool is_exact = false; ///< each node has one whole box
    Placement placement;
};

/// "2 x 2 x 4"
std::string name_of(const std::vector<int>& tile);

/// Placements in which each node has a box of ranks, where nodes have as many ranks as boxes that
/// divide the grid; and those that come near: boxes, or bars as long as the grid, are walked
/// through so that each rank follows a neighbour, and the walk is cut into the ranks of each node.
/// Those that should have the fewest messages between nodes come first, at most `most`.
std::vector<Tiling> tilings(const Grid& grid, const std::vector<int>& sizes, size_t most);

} // namespace nodeaware::place
