#include "tools/nodeaware/place/arrangement.hpp"

#include "strategies/placement/bisection.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace nodeaware::place {

namespace {

/// Groups of ranks in a torus, of which two change places as long as messages pass fewer links
/// thereby.
class Arrangement {
  public:
    /// `node_of`: the node of each group. `sizes`: the ranks of each.
    Arrangement(const RankGraph& groups, const Torus& torus, std::vector<int> node_of,
                const std::vector<int>& sizes)
        : groups_(groups), torus_(torus), node_of_(std::move(node_of)), sizes_(sizes) {
        for (size_t node = 0; node < torus.nodes(); ++node) {
            positions_.push_back(torus.position(node));
        }
    }

    void improve() {
        constexpr int most_passes = 20;
        bool is_better = true;
        for (int i = 0; i < most_passes && is_better; ++i) {
            is_better = false;
            for (int one = 0; one < groups_.ranks() && work_ <= most_work; ++one) {
                is_better = improve(one) || is_better;
            }
        }
    }

    const std::vector<int>& node_of() const { return node_of_; }

    /// Messages on all links.
    int64_t cost() const {
        int64_t cost = 0;
        for (int group = 0; group < groups_.ranks(); ++group) { cost += cost_at(group, group, -1); }
        return cost / 2;
    }

  private:
    /// False: no other group is worth changing places with.
    bool improve(int one) {
        int64_t most = 0;
        int best = one;
        for (int other = 0; other < groups_.ranks(); ++other) {
            if (other == one || size_of(other) != size_of(one)) { continue; }
            work_ += groups_.peers(one).size() + groups_.peers(other).size();
            const int64_t gain = cost_at(one, one, other) + cost_at(other, other, one) -
                                 cost_at(one, other, other) - cost_at(other, one, one);
            if (gain > most) {
                most = gain;
                best = other;
            }
        }
        std::swap(node_of_[static_cast<size_t>(one)], node_of_[static_cast<size_t>(best)]);
        return best != one;
    }

    /// Messages on the links of a group, were it where `place` is; those with `but` left out.
    int64_t cost_at(int group, int place, int but) const {
        int64_t cost = 0;
        for (const Peer& peer : groups_.peers(group)) {
            if (peer.rank == but) { continue; }
            cost += static_cast<int64_t>(peer.messages()) *
                    hops(torus_, position_of(place), position_of(peer.rank));
        }
        return cost;
    }

    const std::vector<int>& position_of(int group) const {
        return positions_[static_cast<size_t>(node_of_[static_cast<size_t>(group)])];
    }

    int size_of(int group) const { return sizes_[static_cast<size_t>(group)]; }

    static constexpr size_t most_work = 50'000'000; // ends of messages that are looked at

    const RankGraph& groups_;
    const Torus& torus_;
    std::vector<int> node_of_;
    const std::vector<int>& sizes_;
    std::vector<std::vector<int>> positions_; ///< of each node
    size_t work_ = 0;
};

/// Nodes in an order in which each half of the list is near together in the torus, and so is each
/// half of it.
class Halves {
  public:
    Halves(const Torus& torus, size_t nodes) : order_(nodes) {
        for (size_t node = 0; node < nodes; ++node) { positions_.push_back(torus.position(node)); }
        std::iota(order_.begin(), order_.end(), 0);
        divide(order_);
    }

    const std::vector<int>& order() const { return order_; }

  private:
    void divide(std::span<int> nodes) {
        if (nodes.size() < 2) { return; }
        const size_t along = longest(nodes);
        std::stable_sort(nodes.begin(), nodes.end(),
                         [&](int one, int other) { return at(one, along) < at(other, along); });
        divide(nodes.first(nodes.size() / 2));
        divide(nodes.subspan(nodes.size() / 2));
    }

    /// The dimension in which they reach farthest.
    size_t longest(std::span<const int> nodes) const {
        size_t longest = 0;
        int most = -1;
        for (size_t i = 0; i < positions_.front().size(); ++i) {
            const auto [low, high] =
                std::minmax_element(nodes.begin(), nodes.end(),
                                    [&](int one, int other) { return at(one, i) < at(other, i); });
            if (at(*high, i) - at(*low, i) > most) {
                most = at(*high, i) - at(*low, i);
                longest = i;
            }
        }
        return longest;
    }

    int at(int node, size_t dimension) const {
        return positions_[static_cast<size_t>(node)][dimension];
    }

    std::vector<std::vector<int>> positions_;
    std::vector<int> order_;
};

} // namespace

Placement arranged(const RankGraph& graph, const Placement& placement, const Torus& torus) {
    const std::vector<int> sizes = ranks_on_nodes(placement);
    const RankGraph groups = node_graph(graph, placement, sizes.size());
    std::vector<int> stay(sizes.size());
    std::iota(stay.begin(), stay.end(), 0);
    Arrangement best(groups, torus, stay, sizes);
    best.improve();
    std::vector<int> node_of = best.node_of();
    if (std::all_of(sizes.begin(), sizes.end(), [&](int size) { return size == sizes[0]; })) {
        const Halves halves(torus, sizes.size());
        std::vector<int> start = bisected(groups, std::vector<int>(sizes.size(), 1), stay);
        for (int& node : start) { node = halves.order()[static_cast<size_t>(node)]; }
        Arrangement other(groups, torus, std::move(start), sizes);
        other.improve();
        if (other.cost() < best.cost()) { node_of = other.node_of(); }
    }
    Placement result;
    for (const int node : placement) { result.push_back(node_of[static_cast<size_t>(node)]); }
    return result;
}

} // namespace nodeaware::place
