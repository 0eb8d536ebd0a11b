#pragma once

#include "strategies/placement/choice.hpp"
#include "tools/nodeaware/place/torus.hpp"

#include <vector>

namespace nodeaware::place {

/// The same ranks together as in `placement`, which may have less nodes than the torus; which of
/// these nodes each group of ranks is on is changed so that messages pass few links. Groups change
/// places with groups of as many ranks only.
Placement arranged(const RankGraph& graph, const Placement& placement, const Torus& torus);

/// The ranks of a grid, cut into as many boxes in each dimension as the torus has routers in one of
/// its own, and each box divided into the nodes of a router: messages pass one link at most. Empty
/// where nodes with `ppn` ranks each do not come out even.
std::vector<Placement> aligned_boxes(const Grid& grid, const Torus& torus, int ppn);

struct TorusChoice {
    Choice choice;
    Carried before;
    Carried node_aware; ///< were ranks to share nodes, of which none is moved in the torus
    Carried after;
    bool is_rejected = false; ///< what is found without a torus, for links would carry more
};

/// The placement with the least traffic on links: what `choose_placement` finds, or that and others
/// arranged in the torus. Of the placements with `least_gain` less of it than `start`, none of
/// whose nodes or links has more to send than the worst of the start; if there are none, what
/// `choose_placement` finds where links carry no more by it. `grid`: as there.
TorusChoice choose_in_torus(const RankGraph& graph, const Placement& start, const Grid& grid,
                            const Torus& torus, const std::vector<Suggestion>& suggestions = {});

} // namespace nodeaware::place
