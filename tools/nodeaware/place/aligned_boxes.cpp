#include "tools/nodeaware/place/arrangement.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace nodeaware::place {

namespace {

/// All ways to write a number as a product of one factor for each dimension of a box, each of which
/// divides the box there.
void add_factors(int number, const std::vector<int>& box, std::vector<int> factors,
                 std::vector<std::vector<int>>& all) {
    const size_t dimension = factors.size();
    if (dimension == box.size()) {
        if (number == 1) { all.push_back(std::move(factors)); }
        return;
    }
    for (int factor = 1; factor <= number; ++factor) {
        if (number % factor != 0 || box[dimension] % factor != 0) { continue; }
        factors.push_back(factor);
        add_factors(number / factor, box, factors, all);
        factors.pop_back();
    }
}

/// `order`: the dimension of the torus along which each dimension of the grid lies. `box`: ranks at
/// a router, `parts`: nodes that this is divided into, in each dimension of the grid.
Placement boxes_at_routers(const Grid& grid, const Torus& torus, const std::vector<size_t>& order,
                           const std::vector<int>& box, const std::vector<int>& parts) {
    const auto ranks = static_cast<size_t>(
        std::accumulate(grid.dimensions.begin(), grid.dimensions.end(), 1, std::multiplies<>()));
    Placement placement(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
        std::vector<int> position(box.size());
        int part = 0;
        int stride = 1;
        auto rest = static_cast<int>(rank);
        for (size_t i = box.size(); i-- > 0;) {
            const int at = rest % grid.dimensions[i];
            rest /= grid.dimensions[i];
            position[order[i]] = at / box[i];
            part += stride * (at % box[i] / (box[i] / parts[i]));
            stride *= parts[i];
        }
        int router = 0;
        for (size_t i = 0; i < position.size(); ++i) {
            router = router * torus.dimensions[i] + position[i];
        }
        placement[rank] = router * torus.at_a_router + part;
    }
    return placement;
}

} // namespace

std::vector<Placement> aligned_boxes(const Grid& grid, const Torus& torus, int ppn) {
    constexpr size_t most_dimensions = 5; // of more there are too many orders
    const size_t count = grid.dimensions.size();
    if (count == 0 || count != torus.dimensions.size() || count > most_dimensions) { return {}; }
    std::vector<Placement> placements;
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    do {
        std::vector<int> box(count);
        int64_t ranks = 1;
        for (size_t i = 0; i < count; ++i) {
            const int routers = torus.dimensions[order[i]];
            box[i] = grid.dimensions[i] % routers == 0 ? grid.dimensions[i] / routers : 0;
            ranks *= box[i];
        }
        if (ranks != int64_t{ppn} * torus.at_a_router) { continue; }
        std::vector<std::vector<int>> all_parts;
        add_factors(torus.at_a_router, box, {}, all_parts);
        for (const auto& parts : all_parts) {
            placements.push_back(boxes_at_routers(grid, torus, order, box, parts));
        }
    } while (std::next_permutation(order.begin(), order.end()));
    return placements;
}

} // namespace nodeaware::place
