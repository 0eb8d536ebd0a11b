// Directions to the neighbours of a place on a grid, and the ranks that are there.
#pragma once

#include <array>
#include <cstdlib>
#include <vector>

namespace bench {

using Direction = std::array<int, 3>; // -1, 0 or 1 in each dimension

// Of faces, with `corners` of edges and corners, too, in the first `dimensions` dimensions. In such
// an order that opposite ones are as far from the beginning as from the end.
inline std::vector<Direction> halo_directions(int dimensions, bool corners) {
    std::vector<Direction> directions;
    for (int code = 0; code < 27; ++code) {
        const Direction direction{code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1};
        int away = 0;
        bool outside = false;
        for (std::size_t d = 0; d < 3; ++d) {
            away += std::abs(direction[d]);
            outside = outside || (static_cast<int>(d) >= dimensions && direction[d] != 0);
        }
        if (!outside && away > 0 && (away == 1 || corners)) directions.push_back(direction);
    }
    return directions;
}

// The place of a rank on a grid numbered like MPI_Cart_create does.
inline std::array<int, 3> place_on_grid(int rank, const std::array<int, 3>& grid) {
    return {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
}

// The rank in that direction; -1 beyond an end that is not periodic.
inline int grid_neighbour(int rank, const std::array<int, 3>& grid, const Direction& direction,
                          bool periodic) {
    const std::array<int, 3> here = place_on_grid(rank, grid);
    int neighbour = 0;
    for (std::size_t d = 0; d < 3; ++d) {
        const int there = here[d] + direction[d];
        if (!periodic && (there < 0 || there >= grid[d])) return -1;
        neighbour = neighbour * grid[d] + (there + grid[d]) % grid[d];
    }
    return neighbour;
}

} // namespace bench
