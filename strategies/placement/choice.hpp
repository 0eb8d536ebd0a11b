#pragma once

#include "strategies/placement/placement.hpp"

#include <string>
#include <vector>

namespace nodeaware::place {

struct Choice {
    Placement placement;
    std::string way; ///< how it was found; empty: ranks stay where they are
    Carried before;
    Carried after;
};

/// The least part of all messages between nodes for which ranks are moved.
inline constexpr double least_gain = 0.05;

/// A placement that others have found, with as many ranks on each node as it should have.
struct Suggestion {
    Placement placement;
    std::string way;
};

/// `boxes_alone`: only boxes that divide a grid, and what comes near them, which takes no longer
/// than a few looks at each rank.
enum class Search { thorough, boxes_alone };

/// A placement with as many ranks on each node as `start` has, and few messages between nodes, most
/// of all of the node that sends most: that node never sends more than the one of the start. It is
/// the start itself where less than `least_gain` of the messages between nodes would be saved.
/// `grid`: of which `graph` is, if it is of one. `suggestions`: also tried, as they are and
/// improved.
Choice choose_placement(const RankGraph& graph, const Placement& start, const Grid& grid = {},
                        Search search = Search::thorough,
                        const std::vector<Suggestion>& suggestions = {});

} // namespace nodeaware::place
