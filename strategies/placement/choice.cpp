#include "strategies/placement/choice.hpp"

#include "strategies/placement/bisection.hpp"
#include "strategies/placement/swaps.hpp"
#include "strategies/placement/tilings.hpp"

#include <algorithm>

namespace nodeaware::place {

namespace {

class Candidates {
  public:
    Candidates(const RankGraph& graph, const Placement& start)
        : graph_(graph), choice_{start, "", off_node(graph, start), off_node(graph, start)} {}

    const Carried& before() const { return choice_.before; }

    void offer(Placement placement, const std::string& way) {
        const Carried after = off_node(graph_, placement);
        const double gained =
            static_cast<double>(choice_.before.messages) - static_cast<double>(after.messages);
        if (after.worst_messages > choice_.before.worst_messages ||
            gained < least_gain * static_cast<double>(choice_.before.messages) ||
            badness(after, choice_.before) >= badness(choice_.after, choice_.before)) {
            return;
        }
        choice_.placement = std::move(placement);
        choice_.way = way;
        choice_.after = after;
    }

    void offer_improved(Placement placement, const std::string& way) {
        improve_by_swaps(graph_, placement, choice_.before.worst_messages);
        offer(std::move(placement), way + " and swaps");
    }

    Choice take() { return std::move(choice_); }

  private:
    const RankGraph& graph_;
    Choice choice_;
};

std::string way_of(const Tiling& tiling) {
    return (tiling.is_exact ? "boxes of " : "runs through boxes of ") + name_of(tiling.tile);
}

/// True: nodes are boxes that divide the grid, and nothing better need be looked for.
bool offer_tilings(Candidates& candidates, const RankGraph& graph, const Grid& grid,
                   const std::vector<int>& sizes, Search search) {
    constexpr size_t most = 100;
    constexpr size_t most_improved = 4;
    std::vector<Tiling> found = tilings(grid, sizes, most);
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < found.size(); ++i) {
        candidates.offer(found[i].placement, way_of(found[i]));
        order.emplace_back(badness(off_node(graph, found[i].placement), candidates.before()), i);
    }
    std::sort(order.begin(), order.end());
    const bool is_exact = !order.empty() && found[order.front().second].is_exact;
    if (is_exact || search == Search::boxes_alone) { return is_exact; }
    for (size_t i = 0; i < std::min(most_improved, order.size()); ++i) {
        Tiling& tiling = found[order[i].second];
        candidates.offer_improved(std::move(tiling.placement), way_of(tiling));
    }
    return false;
}

} // namespace

Choice choose_placement(const RankGraph& graph, const Placement& start, const Grid& grid,
                        Search search, const std::vector<Suggestion>& suggestions) {
    Candidates candidates(graph, start);
    if (candidates.before().messages == 0) { return candidates.take(); }
    const std::vector<int> sizes = ranks_on_nodes(start);
    if (!grid.dimensions.empty() && offer_tilings(candidates, graph, grid, sizes, search)) {
        return candidates.take();
    }
    const Placement blocks = block_placement(sizes);
    if (blocks != start) { candidates.offer(blocks, "blocks"); }
    if (search == Search::boxes_alone) { return candidates.take(); }
    if (blocks != start) { candidates.offer_improved(blocks, "blocks"); }
    candidates.offer_improved(start, "the start");
    candidates.offer_improved(bisected(graph, sizes, start), "bisection");
    for (const Suggestion& suggestion : suggestions) {
        candidates.offer(suggestion.placement, suggestion.way);
        candidates.offer_improved(suggestion.placement, suggestion.way);
    }
    return candidates.take();
}

} // namespace nodeaware::place
