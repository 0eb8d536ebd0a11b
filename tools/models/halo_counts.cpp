#include "tools/models/halo_counts.hpp"

#include <algorithm>
#include <cmath>

namespace nodeaware::tuning {

namespace {

int largest_divisor(int number, int at_most) {
    int divisor = std::max(1, at_most);
    while (number % divisor != 0) { --divisor; }
    return divisor;
}

/// Steps to the neighbours, and what goes there: 0 faces, 1 edges, 2 corners.
struct Neighbour {
    std::array<int, 3> step{};
    size_t kind = 0;
};

std::vector<Neighbour> neighbours() {
    std::vector<Neighbour> all;
    for (int x = -1; x <= 1; ++x) {
        for (int y = -1; y <= 1; ++y) {
            for (int z = -1; z <= 1; ++z) {
                const int steps = std::abs(x) + std::abs(y) + std::abs(z);
                if (steps > 0) { all.push_back({{x, y, z}, static_cast<size_t>(steps - 1)}); }
            }
        }
    }
    return all;
}

bool sends_more(const HaloCounts::Process& one, const HaloCounts::Process& other) {
    const auto by_weight = [](const HaloCounts::Process& sent) {
        return std::array{sent[0].off_node, sent[1].off_node, sent[2].off_node,
                          sent[0].on_node,  sent[1].on_node,  sent[2].on_node};
    };
    return by_weight(one) > by_weight(other);
}

class HaloCounter {
  public:
    HaloCounter(const place::Grid& grid, const place::Placement& placement,
                const std::function<double(int, int)>& hops)
        : size_(grid.dimensions), placement_(placement), hops_(hops) {
        const int last = *std::max_element(placement.begin(), placement.end());
        counts_.by_node.resize(static_cast<size_t>(last) + 1);
    }

    void add(int x, int y, int z) {
        HaloCounts::Process sent{};
        const int node = node_of(x, y, z);
        for (const Neighbour& neighbour : neighbours_) {
            const auto& [step, kind] = neighbour;
            const std::array<int, 3> at = {x + step[0], y + step[1], z + step[2]};
            const bool is_inside = at[0] >= 0 && at[0] < size_[0] && at[1] >= 0 &&
                                   at[1] < size_[1] && at[2] >= 0 && at[2] < size_[2];
            if (!is_inside) { continue; }
            const int other = node_of(at[0], at[1], at[2]);
            if (other == node) {
                ++sent[kind].on_node;
                continue;
            }
            ++sent[kind].off_node;
            ++off_node_;
            if (hops_) { counts_.hops += hops_(node, other); }
        }
        for (size_t kind = 0; kind < halo_kinds; ++kind) {
            counts_.average[kind].on_node += sent[kind].on_node;
            counts_.average[kind].off_node += sent[kind].off_node;
            HaloCounts::Kind& of_node = counts_.by_node[static_cast<size_t>(node)][kind];
            of_node.on_node += sent[kind].on_node;
            of_node.off_node += sent[kind].off_node;
        }
        if (sends_more(sent, counts_.worst)) { counts_.worst = sent; }
    }

    HaloCounts result() const {
        HaloCounts counts = counts_;
        const auto ranks = static_cast<double>(placement_.size());
        for (HaloCounts::Kind& kind : counts.average) {
            kind.on_node /= ranks;
            kind.off_node /= ranks;
        }
        if (off_node_ > 0) { counts.hops /= off_node_; }
        return counts;
    }

  private:
    int node_of(int x, int y, int z) const {
        const int rank = (x * size_[1] + y) * size_[2] + z;
        return placement_[static_cast<size_t>(rank)];
    }

    const std::vector<int>& size_;
    const place::Placement& placement_;
    const std::function<double(int, int)>& hops_;
    std::vector<Neighbour> neighbours_ = neighbours();
    HaloCounts counts_; ///< sums
    double off_node_ = 0;
};

} // namespace

place::Grid balanced_grid(int ranks) {
    const int least = largest_divisor(ranks, static_cast<int>(std::cbrt(ranks) + 1e-6));
    const int rest = ranks / least;
    const int middle = largest_divisor(rest, static_cast<int>(std::sqrt(rest) + 1e-6));
    std::vector<int> dimensions = {rest / middle, middle, least};
    std::sort(dimensions.rbegin(), dimensions.rend());
    return {dimensions, false};
}

HaloCounts count_halo(const place::Grid& grid, const place::Placement& placement,
                      const std::function<double(int, int)>& hops) {
    HaloCounter counter(grid, placement, hops);
    for (int x = 0; x < grid.dimensions[0]; ++x) {
        for (int y = 0; y < grid.dimensions[1]; ++y) {
            for (int z = 0; z < grid.dimensions[2]; ++z) { counter.add(x, y, z); }
        }
    }
    return counter.result();
}

place::Placement place_halo(const place::Grid& grid, int nodes, int ppn, HaloPlacement how) {
    const std::vector<int> sizes(static_cast<size_t>(nodes), ppn);
    place::Placement block = place::block_placement(sizes);
    if (how == HaloPlacement::block) { return block; }
    auto boxes = place::tilings(grid, sizes, 1);
    const auto faces_off_node = [&](const place::Placement& placement) {
        return count_halo(grid, placement, {}).average[0].off_node;
    };
    // Ranks in their order may be in boxes, too, and in better ones.
    const bool is_better =
        !boxes.empty() && faces_off_node(boxes.front().placement) < faces_off_node(block);
    return is_better ? std::move(boxes.front().placement) : block;
}

} // namespace nodeaware::tuning
