#include "strategies/placement/swaps.hpp"
#include "strategies/placement/tilings.hpp"
#include "tools/nodeaware/place/arrangement.hpp"

#include <algorithm>

namespace nodeaware::place {

namespace {

bool is_worse(const Carried& one, const Carried& other) {
    return one.messages > other.messages || one.worst_messages > other.worst_messages;
}

class TorusCandidates {
  public:
    TorusCandidates(const RankGraph& graph, const Torus& torus, TorusChoice first)
        : graph_(graph), torus_(torus), best_(std::move(first)) {}

    void offer(const Placement& placement, const std::string& way) {
        const Carried before = best_.choice.before;
        const Carried off = off_node(graph_, placement);
        const Carried links = link_traffic(graph_, placement, torus_);
        const double gained =
            static_cast<double>(best_.before.messages) - static_cast<double>(links.messages);
        if (is_worse(links, best_.before) || off.messages > before.messages ||
            off.worst_messages > before.worst_messages ||
            gained < least_gain * static_cast<double>(best_.before.messages)) {
            return;
        }
        const bool is_better = links.messages != best_.after.messages
                                   ? links.messages < best_.after.messages
                                   : badness(off, before) < badness(best_.choice.after, before);
        if (!is_better) { return; }
        best_.choice.placement = placement;
        best_.choice.way = way;
        best_.choice.after = off;
        best_.after = links;
    }

    void offer_arranged(const Placement& placement, const std::string& way) {
        offer(arranged(graph_, placement, torus_), way + ", arranged in the torus");
    }

    TorusChoice take() { return std::move(best_); }

  private:
    const RankGraph& graph_;
    const Torus& torus_;
    TorusChoice best_;
};

/// Boxes that divide the grid, arranged; and those that fit the torus.
void offer_boxes(TorusCandidates& candidates, const Grid& grid, const Torus& torus,
                 const std::vector<int>& sizes) {
    constexpr size_t most_arranged = 3;
    for (const Tiling& tiling : tilings(grid, sizes, most_arranged)) {
        if (tiling.is_exact) {
            candidates.offer_arranged(tiling.placement, "boxes of " + name_of(tiling.tile));
        }
    }
    const bool is_even =
        std::all_of(sizes.begin(), sizes.end(), [&](int size) { return size == sizes.front(); });
    if (!is_even || sizes.size() != torus.nodes()) { return; }
    for (const Placement& placement : aligned_boxes(grid, torus, sizes.front())) {
        candidates.offer(placement, "boxes along the torus");
    }
}

/// Of boxes that are as good as those chosen, those whose messages pass the fewest links, with the
/// nodes in their order.
void take_fewest_links(Choice& shared, const RankGraph& graph, const Grid& grid, const Torus& torus,
                       const std::vector<int>& sizes) {
    constexpr size_t most_looked_at = 20;
    uint64_t fewest = link_traffic(graph, shared.placement, torus).messages;
    for (Tiling& tiling : tilings(grid, sizes, most_looked_at)) {
        const Carried off = off_node(graph, tiling.placement);
        if (!tiling.is_exact || off.messages != shared.after.messages ||
            off.worst_messages != shared.after.worst_messages) {
            continue;
        }
        const uint64_t links = link_traffic(graph, tiling.placement, torus).messages;
        if (links >= fewest) { continue; }
        fewest = links;
        shared.placement = std::move(tiling.placement);
        shared.way = "boxes of " + name_of(tiling.tile);
        shared.after = off;
    }
}

} // namespace

TorusChoice choose_in_torus(const RankGraph& graph, const Placement& start, const Grid& grid,
                            const Torus& torus, const std::vector<Suggestion>& suggestions) {
    const Carried before = link_traffic(graph, start, torus);
    const Choice found = choose_placement(graph, start, grid, Search::thorough, suggestions);
    Choice shared = found;
    if (!shared.way.empty()) {
        take_fewest_links(shared, graph, grid, torus, ranks_on_nodes(start));
    }
    const Carried node_aware = link_traffic(graph, shared.placement, torus);
    const bool is_rejected = is_worse(node_aware, before);
    if (!is_rejected && before.messages == 0) {
        return {shared, before, node_aware, node_aware, false};
    }
    const Choice none{start, "", shared.before, shared.before};
    TorusChoice first{none, before, node_aware, before, is_rejected};
    if (!is_rejected) {
        first.choice = shared;
        first.after = node_aware;
    }
    TorusCandidates candidates(graph, torus, std::move(first));
    candidates.offer_arranged(start, "ranks together as they were");
    for (const Choice& choice : {found, shared}) {
        if (!choice.way.empty()) { candidates.offer_arranged(choice.placement, choice.way); }
    }
    if (!grid.dimensions.empty()) { offer_boxes(candidates, grid, torus, ranks_on_nodes(start)); }
    return candidates.take();
}

} // namespace nodeaware::place
