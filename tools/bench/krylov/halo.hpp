// What a halo exchange sends.
#pragma once

#include "tools/bench/directions.hpp"

#include <vector>

namespace bench::krylov {

struct HaloMessage {
    Direction direction;
    int values;
};

// Of a rank with `cells` cells in each of 1 to 3 dimensions to its neighbours, in
// halo_directions()'s order: to those of faces, cells^(dimensions - 1); with `corners` cells to
// those of edges of three dimensions and 1 to those of corners.
inline std::vector<HaloMessage> halo_messages(int cells, int dimensions, bool corners) {
    std::vector<HaloMessage> messages;
    for (const Direction& direction : halo_directions(dimensions, corners)) {
        int values = 1;
        for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d)
            if (direction[d] == 0) values *= cells;
        messages.push_back({direction, values});
    }
    return messages;
}

} // namespace bench::krylov
